import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allVerbs, findVerb } from '../../../src/cli/verbs.ts';

test('each verb is registered under the name in its help', async () => {
	const verbs = await allVerbs();
	assert.ok(verbs.length > 30, `${verbs.length}`);
	for (const verb of verbs) assert.equal((await findVerb(verb.name)).name, verb.name);
	assert.equal(new Set(verbs.map(({ name }) => name)).size, verbs.length);
	for (const name of ['fly', '', 'toString', '__proto__']) await assert.rejects(findVerb(name), { reason: 'invalid' });
});
