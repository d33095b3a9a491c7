import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskRows } from '../../../src/extension/diskRows.ts';

test('lists the parts of a run by size, with ways to reduce them', () => {
	const use = { total: 4000, parts: { 'run.json': 0, rollouts: 1000, checkpoints: 3000 } };
	assert.deepEqual(diskRows(use, true), [
		{ label: 'checkpoints', description: '3 kB · 75%', prune: 'checkpoints' },
		{ label: 'rollouts', description: '1 kB · 25%', prune: 'tokens' },
		{ label: 'run.json', description: '0 B · 0%', prune: null },
	]);
	assert.ok(diskRows(use, false).every((row) => row.prune === null));
	assert.deepEqual(diskRows({ total: 0, parts: { a: 0 } }, true), [
		{ label: 'a', description: '0 B · 0%', prune: null },
	]);
});
