import assert from 'node:assert/strict';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { ParquetRows } from '../../../../../src/runs/importers/decoding/parquetRows.ts';
import { fixtureFolder } from '../foreignFixtures.ts';

it('decompresses at most the limit per request, whatever size a Parquet file declares', async (t) => {
	const folder = join(fixtureFolder('trl-run'), 'completions');
	const [name] = (await readdir(folder)).sort();
	const file = await open(join(folder, name as string), 'r');
	t.after(() => file.close());
	const { size } = await file.stat();
	const count = (await new ParquetRows(file.fd, size).shape()).rows;
	assert.equal((await new ParquetRows(file.fd, size).rows(0, count)).length, count);
	await assert.rejects(
		new ParquetRows(file.fd, size, 100).rows(0, count),
		/^Error: more than 100 bytes of pages need to be decompressed$/,
	);
});

it('decodes an oversized row group in windows of rows and serves it in batches', async (t) => {
	const folder = join(fixtureFolder('trl-run'), 'completions');
	const [name] = (await readdir(folder)).sort();
	const file = await open(join(folder, name as string), 'r');
	t.after(() => file.close());
	const { size } = await file.stat();
	const whole = new ParquetRows(file.fd, size);
	const { rows: count } = await whole.shape();
	const all = await whole.rows(0, count);
	const inWindows = async (window: number) => {
		const other = await open(join(folder, name as string), 'r');
		const rows = new ParquetRows(other.fd, size, undefined, undefined, { held: 0, window });
		const first = await rows.rows(0, 1);
		// Decoded rows are available without the file, but others are not.
		await other.close();
		const later = await Promise.allSettled([rows.rows(1, 2), rows.rows(count - 1, count)]);
		return { first, later: later.map(({ status }) => status) };
	};
	assert.deepEqual(await inWindows(1 << 30), { first: all.slice(0, 1), later: ['fulfilled', 'fulfilled'] });
	assert.deepEqual((await inWindows(0)).later, ['rejected', 'rejected']);
	for (const window of [1, 2000, 5000, 20_000]) {
		const rows = new ParquetRows(file.fd, size, undefined, undefined, { held: 0, window });
		const read: unknown[] = [];
		while (read.length < count) read.push(...(await rows.rows(read.length, Math.min(count, read.length + 2))));
		assert.deepEqual(read, all, `${window}`);
	}
});
