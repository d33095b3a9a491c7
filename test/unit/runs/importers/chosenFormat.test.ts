import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { fixtureFolder } from './foreignFixtures.ts';

const refused = (message: RegExp, action: RegExp) => (error: unknown) => {
	assert.ok(error instanceof Failure);
	assert.equal(error.reason, 'invalid');
	assert.match(error.message, message);
	assert.match(error.action ?? '', action);
	return true;
};

describe('a format chosen by the user', () => {
	it('is rejected with the list of formats if unknown', async () => {
		const refusal = refused(/^Unknown format "nope"\.$/, /^Use one of reasoning-lab, trl, .*tensorboard, chat\.$/);
		await assert.rejects(openRun(fixtureFolder('trl-run'), { format: 'nope' }), refusal);
	});

	it('is rejected with the formats that the folder matches', async () => {
		const refusal = refused(/does not contain a verl run\. Looked for: /, /^It can be read as TRL \(trl\)/);
		await assert.rejects(openRun(fixtureFolder('trl-run'), { format: 'verl' }), refusal);
	});
});
