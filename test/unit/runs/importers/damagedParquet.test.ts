import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fixtureFolder } from './foreignFixtures.ts';
import { madeRun } from './madeRun.ts';

const name = 'completions/completions_00002.parquet';

describe('a damaged Parquet file', () => {
	it('does not affect files read after it', async () => {
		const intact = await readFile(join(fixtureFolder('trl-run'), name));
		const damaged = Buffer.from(intact);
		// Pages of all columns, without the metadata at the end.
		const pages = damaged.length - 8 - damaged.readUInt32LE(damaged.length - 8);
		for (let at = 4; at < pages; at += 7) damaged[at] = 0xff;
		// Make one column fail immediately, before the others.
		const column = damaged.indexOf('advantage', damaged.indexOf('advantage', pages) + 1);
		damaged[column] = 0xff;
		for (let round = 0; round < 6; round++) {
			const runs = await Promise.all([damaged, intact, damaged, intact].map((bytes) => madeRun({ [name]: bytes })));
			assert.deepEqual(
				runs.map(({ train }) => train.length),
				[0, 32, 0, 32],
			);
			assert.deepEqual(
				runs.map(({ faults }) => faults.reduce((sum, { records }) => sum + records, 0)),
				[32, 0, 32, 0],
			);
		}
	});
});
