import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { ParquetRows } from '../../../../src/runs/importers/decoding/parquetRows.ts';
import { fixtureFolder } from './foreignFixtures.ts';

it('decompresses no more for one request than it may, whatever a Parquet file says of its size', async (t) => {
	const folder = join(fixtureFolder('trl-run'), 'completions');
	const [name] = (await readdir(folder)).sort();
	const file = await open(join(folder, name as string), 'r');
	t.after(() => file.close());
	const { size } = await file.stat();
	const count = (await new ParquetRows(file.fd, size).shape()).rows;
	assert.equal((await new ParquetRows(file.fd, size).rows(0, count)).length, count);
	await assert.rejects(
		new ParquetRows(file.fd, size, 100).rows(0, count),
		/^Error: more than 100 bytes of pages at once$/,
	);
});
