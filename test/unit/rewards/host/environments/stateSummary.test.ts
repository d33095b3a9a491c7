import assert from 'node:assert/strict';
import { it } from 'node:test';
import { summarizeState } from '../../../../../src/rewards/host/environments/stateSummary.ts';

it('the state of an instance that cannot be inspected is empty', () => {
	const hostile = new Proxy(
		{},
		{
			ownKeys() {
				throw new Error('no keys');
			},
		},
	);
	assert.deepEqual(summarizeState(hostile), {});
	assert.deepEqual(summarizeState({ at: 1, hostile }), { at: 1, hostile: '(unreadable)' });
});
