import assert from 'node:assert/strict';
import { open, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { ArrowRows } from '../../../../../src/runs/importers/decoding/arrowRows.ts';
import { readSchema } from '../../../../../src/runs/importers/decoding/arrowSchema.ts';
import { FlatTable } from '../../../../../src/runs/importers/decoding/flatTable.ts';
import { root } from '../../../../scripts/paths.ts';

const types = (name: string) => join(root, 'test/fixtures/datasets/types', name);
const bomb = (name: string) => join(root, 'test/fixtures/bombs', `${name}.arrow`);

async function opened(t: TestContext, path: string, maxDecoded?: number): Promise<ArrowRows> {
	const file = await open(path, 'r');
	t.after(() => file.close());
	return new ArrowRows(file.fd, (await file.stat()).size, maxDecoded);
}

async function all(rows: ArrowRows): Promise<unknown[]> {
	const found: unknown[] = [];
	for (const count of (await rows.shape()).groups) {
		for (const end = found.length + count; found.length < end; ) found.push(...(await rows.rows(found.length, end)));
	}
	return found;
}

test('values of every type match those written by pyarrow, in the stream and file formats', async (t) => {
	const expected: unknown = JSON.parse(await readFile(types('rows.json'), 'utf8'));
	for (const name of ['stream.arrow', 'file.arrow']) {
		const rows = await opened(t, types(name));
		assert.deepEqual((await rows.shape()).groups, [3, 3, 1], name);
		assert.deepEqual(await all(rows), expected, name);
		// Access rows out of order: a batch's bits do not start at a byte boundary.
		assert.deepEqual(await (await opened(t, types(name))).rows(4, 6), (expected as unknown[]).slice(4, 6), name);
	}
});

test('delta and replacement dictionaries apply to the batches that follow', async (t) => {
	const words = async (name: string) =>
		(await all(await opened(t, types(name)))).map((row) => (row as { word: string | null }).word);
	assert.deepEqual(await words('deltas.arrow'), ['b', null, 'a', 'c', null, 'a', 'd', null, 'a']);
	assert.deepEqual(await words('replaced.arrow'), ['b', null, 'b', 'c', null, 'c', 'd', null, 'd']);
});

for (const [name, why] of [
	['texts', /^Error: its rows decode to more than \d+ bytes from a file of \d+$/],
	['rows', /^Error: (a length is|it claims) \d+/],
	['list', /^Error: a row is larger than \d+ bytes$/],
	['deep', /^Error: its columns are nested more than 64 levels deep$/],
] as const) {
	test(`a small file that claims to be large is rejected with a reason: ${name}`, async (t) => {
		const rows = await opened(t, bomb(name));
		await assert.rejects(all(rows), why);
	});
}

test('a legitimate file is read in batches of limited size', async (t) => {
	const rows = await opened(t, bomb('texts'), 2 ** 42);
	const first = await rows.rows(0, 2000);
	assert.ok(first.length > 400 && first.length < 840, `${first.length} rows of 40 kB`);
});

test('compressed batches, truncated files and non-Arrow files are rejected with a message', async (t) => {
	await assert.rejects(all(await opened(t, types('compressed.arrow'))), /^Error: its record batches are compressed$/);
	const folder = tmpdir();
	const stream = await readFile(types('stream.arrow'));
	const file = await readFile(types('file.arrow'));
	for (const [bytes, why] of [
		[stream.subarray(0, 6000), /^Error: it is truncated within a message$/],
		[file.subarray(0, 6000), /^Error: it is truncated within a message$/],
		[Buffer.alloc(0), /^Error: it has no schema$/],
		[Buffer.from('{"prompt": "a text", "answer": "no Arrow at all"}'), /^Error: a message has \d+ bytes of metadata$/],
	] as const) {
		const path = join(folder, 'damaged.arrow');
		await writeFile(path, bytes);
		await assert.rejects(all(await opened(t, path)), why);
	}
	// Without the end-of-stream marker, as left by a writer that was killed between two batches.
	await writeFile(join(folder, 'damaged.arrow'), stream.subarray(0, stream.length - 8));
	assert.equal((await all(await opened(t, join(folder, 'damaged.arrow')))).length, 7);
});

test('damage anywhere results in a value or an error message, never a crash or a hang', async (t) => {
	const random = Random.of('damage');
	const whole = await readFile(types('stream.arrow'));
	const path = join(tmpdir(), 'damaged.arrow');
	let [read, refused] = [0, 0];
	for (let i = 0; i < 120; i++) {
		const bytes = Buffer.from(whole);
		for (let k = 0; k < 1 + (i % 3); k++) {
			bytes[Math.floor(random.next() * bytes.length)] = [0, 0xff, 0x7f, 0x80][Math.floor(random.next() * 4)] as number;
		}
		await writeFile(path, bytes);
		const file = await open(path, 'r');
		try {
			await all(new ArrowRows(file.fd, bytes.length));
			read++;
		} catch (error) {
			refused++;
			assert.match((error as Error).name, /^Error$/, String((error as Error).stack));
		} finally {
			await file.close();
		}
	}
	assert.ok(read > 20 && refused > 20, `${read} read, ${refused} refused`);
	t.diagnostic(`${read} read, ${refused} refused`);
});

test('columns that reference the same columns repeatedly are rejected', () => {
	// Nested tables that each reference the next table twice, for a total of 2^60.
	const levels = 60;
	const view = new DataView(new ArrayBuffer(4096));
	// vtable layout: the list is field 1 of the schema and field 5 of a column, whose field 2 is its type.
	const fields = (at: number, bytes: number, places: Readonly<Record<number, number>>) => {
		view.setUint16(at, bytes, true);
		for (const [field, place] of Object.entries(places)) view.setUint16(at + 4 + 2 * Number(field), place, true);
	};
	fields(4, 16, { 1: 4, 2: 20, 5: 4 });
	fields(24, 10, { 2: 20 });
	const place = (level: number) => 64 + level * 32;
	view.setUint32(0, place(0), true);
	for (let level = 0; level <= levels; level++) {
		const at = place(level);
		const struct = 13;
		view.setUint8(at + 20, struct);
		view.setInt32(at, at - (level === levels ? 24 : 4), true);
		if (level === levels) break;
		view.setUint32(at + 4, 4, true);
		view.setUint32(at + 8, 2, true);
		for (const name of [at + 12, at + 16]) view.setUint32(name, place(level + 1) - name, true);
	}
	assert.throws(
		() => readSchema(FlatTable.root(new Uint8Array(view.buffer))),
		/^Error: it has more than 10000 columns$/,
	);
});
