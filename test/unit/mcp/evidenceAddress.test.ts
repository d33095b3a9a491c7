import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evidenceAddress } from '../../../src/mcp/evidenceAddress.ts';

test('evidence is addressed as a rollout, or as a group if it has no rollout', () => {
	assert.equal(evidenceAddress('a b', { step: 3, group: 1, index: 0 }), 'rl://a%20b/step/3/group/1/completion/0');
	assert.equal(evidenceAddress('a b', { step: 3, group: 1 }), 'rl://a%20b/step/3/group/1');
});
