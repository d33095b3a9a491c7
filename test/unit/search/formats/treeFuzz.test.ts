import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type TreeFuzzCase, treeFuzzCase } from '../../../support/treeFileFuzz.ts';

const cases = 400;

it('damaged external tree files are read or rejected with a reason', async () => {
	const results: TreeFuzzCase[] = [];
	for (let seed = 0; seed < cases; seed++) results.push(await treeFuzzCase(seed));
	assert.deepEqual(
		results.filter(({ problem }) => problem !== null),
		[],
	);
	// Every outcome must occur, or the test would be vacuous.
	for (const outcome of ['read', 'faults', 'refused'] as const) {
		assert.ok(results.filter((result) => result.outcome === outcome).length > 10, outcome);
	}
	assert.deepEqual(await treeFuzzCase(3), results[3]);
});
