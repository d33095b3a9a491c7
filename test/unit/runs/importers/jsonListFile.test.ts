import assert from 'node:assert/strict';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Frame } from '../../../../src/files/frame.ts';
import { openFrames } from '../../../../src/runs/importers/openFrames.ts';

/** Reads a file as if it were too large to read at once, then reads each of its frames again. */
async function framesOf(text: string, after = 0): Promise<Frame[]> {
	const folder = await realpath(await mkdtemp(join(tmpdir(), 'list-')));
	try {
		await writeFile(join(folder, 'log.json'), text);
		const inParts = { list: 'rows', beside: ['a', 'late'] };
		const file = await openFrames(folder, 'log.json', { form: 'json', largest: 1, inParts });
		const found: Frame[] = [];
		const from = after === 0 ? undefined : { offset: 0, length: 0, number: after };
		for await (const frame of file.frames(undefined, from)) found.push(frame);
		for (const frame of found) if (!frame.torn) assert.deepEqual(await file.frame(frame), frame);
		await file.close();
		return found;
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}
const shown = (frames: readonly Frame[]) => frames.map(({ number, records, fault }) => [number, records[0], fault]);

test('each entry of a list is a record, with the fields before the list', async () => {
	const text = '{"a":{"b":[1]},"other":"x","rows":[{"rows":[1]},NaN,"]}",[] ],"late":1}';
	const record = (entry: unknown) => ({ a: { b: [1] }, rows: [entry] });
	const all = [
		[1, record({ rows: [1] }), null],
		[2, record(null), null],
		[3, record(']}'), null],
		[4, record([]), null],
	];
	assert.deepEqual(shown(await framesOf(text)), all);
	assert.deepEqual(shown(await framesOf(text, 3)), all.slice(3));
	assert.deepEqual(await framesOf('{"rows":[]}'), []);
	assert.deepEqual(await framesOf('{"rows":5,"a":1}'), []);
});

test('damaged entries are skipped, and the complete entries of a truncated file are read', async () => {
	const early = 'invalid JSON: it ends too early';
	assert.deepEqual(shown(await framesOf('{"rows":[1,{x},{"y":2}]}')), [
		[1, { rows: [1] }, null],
		[2, undefined, 'rows[1] is invalid JSON'],
		[3, { rows: [{ y: 2 }] }, null],
	]);
	assert.deepEqual(shown(await framesOf('{"rows":[1,{"y":2')), [
		[1, { rows: [1] }, null],
		[2, undefined, early],
	]);
	assert.deepEqual(shown(await framesOf('{"a":1,"rows":[1,2]')), [
		[1, { a: 1, rows: [1] }, null],
		[2, { a: 1, rows: [2] }, null],
		[3, undefined, early],
	]);
	assert.deepEqual(shown(await framesOf('[1, 2]')), [[1, undefined, 'invalid JSON: not an object']]);
	assert.deepEqual(shown(await framesOf('  ')), [[1, undefined, early]]);
});
