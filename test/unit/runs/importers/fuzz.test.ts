import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FuzzCase, fuzzCase, fuzzedFormats } from '../../../support/importerFuzz.ts';

const cases = 48;

/** Long version: `npm run acceptance -- importerFuzz`. */
describe('damaged external files', () => {
	it('are read or reported, record by record, in every format', async () => {
		const results: FuzzCase[] = [];
		for (let seed = 0; seed < cases; seed++) results.push(await fuzzCase(seed));
		assert.deepEqual(
			results.filter(({ problem }) => problem !== null).map(({ seed, name, problem }) => ({ seed, name, problem })),
			[],
		);
		// Each count must be nonzero, or the check itself would be vacuous.
		const counted = results.flatMap(({ counts }) => counts ?? []);
		assert.ok(counted.length > cases / 2);
		assert.ok(counted.some(({ total, read }) => total > 3 && read === total));
		assert.ok(counted.some(({ total, read }) => read > 0 && read < total));
		assert.ok(counted.some(({ total, read, skipped }) => total > 0 && read === 0 && skipped > 0));
		assert.ok(fuzzedFormats.every(({ files }) => files > 0));
	});

	it('are identical for the same seed', async () => {
		const [first, again, other] = [await fuzzCase(7), await fuzzCase(7), await fuzzCase(20)];
		assert.equal(first.name, again.name);
		assert.deepEqual(first.counts, again.counts);
		assert.notEqual(first.name, other.name);
	});
});
