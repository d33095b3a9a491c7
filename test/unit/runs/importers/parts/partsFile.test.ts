import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Frame, FramePlace } from '../../../../../src/files/frame.ts';
import { LineFile } from '../../../../../src/files/lineFile.ts';
import { OpenedFile } from '../../../../../src/files/openedFile.ts';
import { ZstdBytes } from '../../../../../src/files/zstdBytes.ts';
import { PartsFile, smallestInThread } from '../../../../../src/runs/importers/parts/partsFile.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { zstdFile } from '../../../../support/zstdFile.ts';

let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'parts-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const parts = { run: { step: true } } as const;
const linesInStep = 100;

/** A line with some text that is not needed. Some lines are damaged, and some have to be parsed as a whole. */
function line(i: number): string {
	if (i % 997 === 5) return '{"run": {"step": ';
	if (i % 997 === 6) return `{"run": {"step": ${Math.floor(i / linesInStep)}}, "value": NaN}`;
	return JSON.stringify({ id: i, text: 'We add é. '.repeat(800), run: { id: 'r', step: Math.floor(i / linesInStep) } });
}
const count = Math.ceil((smallestInThread * 1.5) / Buffer.byteLength(line(1)));
const text = `${Array.from({ length: count }, (_, i) => line(i)).join('\n')}\n`;
const torn = `${text}{"run": {"st`;

async function opened(name: string, data: string | Buffer): Promise<{ lines: LineFile; file: PartsFile }> {
	await writeFile(join(folder, name), data);
	const source = await OpenedFile.open(folder, name);
	const compressed = name.endsWith('.zst');
	const { descriptor, size, modifiedMs, stamp } = source;
	const lines = new LineFile(compressed ? await ZstdBytes.open(source) : source, { parts });
	return { lines, file: new PartsFile(lines, { file: { descriptor, size, modifiedMs, stamp }, compressed, parts }) };
}

async function all(frames: AsyncGenerator<Frame>): Promise<Frame[]> {
	const found: Frame[] = [];
	for await (const frame of frames) found.push(frame);
	return found;
}

function compressed(): Buffer {
	const frames: string[] = [];
	for (let at = 0; at < torn.length; at += 1 << 20) frames.push(torn.slice(at, at + (1 << 20)));
	return zstdFile(frames, true);
}

describe('a large file of which a thread extracts parts', () => {
	for (const name of ['plain.jsonl', 'sealed.jsonl.zst', 'damaged.jsonl.zst']) {
		test(`${name} has the same frames as without a thread, from the start and from the middle`, async () => {
			const data = name.endsWith('.zst') ? compressed() : torn;
			if (name.startsWith('damaged')) (data as Buffer).fill(0xff, 3000, 3100);
			const { lines, file } = await opened(name, data);
			const expected = await all(lines.frames());
			assert.ok(expected.some(({ fault }) => fault !== null) && expected.at(-1)?.torn === true);
			assert.deepEqual(await all(file.frames()), expected);
			for (const { records } of expected) {
				for (const record of records) assert.deepEqual(Object.keys(record as object), ['run']);
			}
			const middle = expected[100] as FramePlace;
			assert.deepEqual(await all(file.frames(undefined, middle)), expected.slice(101));
			await file.close();
		});
	}

	test('is read by the thread, not by the caller', async () => {
		const { lines } = await opened('callers.jsonl', text);
		await writeFile(join(folder, 'threads.jsonl'), text.replaceAll('"step":', '"step":1'));
		const source = await OpenedFile.open(folder, 'threads.jsonl');
		const { descriptor, size, modifiedMs, stamp } = source;
		const file = new PartsFile(lines, { file: { descriptor, size, modifiedMs, stamp }, compressed: false, parts });
		const [first] = await all(file.frames());
		assert.deepEqual(first?.records, [{ run: { step: 10 } }]);
		await file.close();
		await source.close();
	});

	test('can be read by more readers than there are threads', async () => {
		const { lines, file } = await opened('many.jsonl', text);
		const expected = await all(lines.frames());
		const found = await Promise.all(Array.from({ length: 7 }, () => all(file.frames())));
		for (const frames of found) assert.deepEqual(frames, expected);
		await file.close();
	});

	test('stops being read when the signal is aborted or the reader leaves, and can be read again', async () => {
		const { file } = await opened('left.jsonl', text);
		const abort = new AbortController();
		await assert.rejects(
			async () => {
				for await (const { number } of file.frames(abort.signal)) if (number === 200) abort.abort();
			},
			{ reason: 'cancelled' },
		);
		for await (const { number } of file.frames()) if (number === 200) break;
		assert.equal((await all(file.frames())).length, count);
		await file.close();
	});

	test('is read without a thread if the thread cannot read it', async () => {
		const { lines } = await opened('fallback.jsonl', text);
		const file = { descriptor: 1_000_000, size: lines.size, modifiedMs: 0, stamp: '' };
		const unreadable = new PartsFile(lines, { file, compressed: false, parts });
		assert.equal((await all(unreadable.frames())).length, count);
		await lines.close();
	});

	test('lists the steps of several chunks and follows one that grows', async () => {
		const run = join(folder, 'run');
		const stream = 'run/monitors/file/traces/stream';
		await mkdir(join(folder, stream), { recursive: true });
		const episode = (i: number, step: number) =>
			JSON.stringify({
				id: `e${i}`,
				group: { id: `g${i}` },
				run: { id: 'r', step },
				traces: [{ id: `t${i}`, nodes: [{ message: { role: 'user', content: 'x'.repeat(8000) }, sampled: false }] }],
			});
		const chunk = (from: number) =>
			`${Array.from({ length: 2200 }, (_, i) => episode(i, from + (i >> 8))).join('\n')}\n`;
		await writeFile(join(folder, stream, '00000.jsonl'), chunk(0));
		await writeFile(join(folder, stream, '00001.jsonl'), chunk(9));
		await writeFile(join(folder, stream, '00002.jsonl'), chunk(18));
		const opened = await openRun(run);
		assert.deepEqual(
			await opened.steps(),
			Array.from({ length: 27 }, (_, step) => step),
		);
		await writeFile(join(folder, stream, '00002.jsonl'), `${chunk(18)}${episode(1, 30)}\n`);
		assert.equal((await opened.steps()).at(-1), 30);
	});

	test('reports errors in the order of the files, whichever is read first', async () => {
		const stream = 'faults/monitors/file/traces/stream';
		await mkdir(join(folder, stream), { recursive: true });
		const names = ['00000.jsonl', '00001.jsonl', '00002.jsonl'];
		for (const [i, name] of names.entries()) {
			// The first file is the longest, so the others are read before it.
			const lines = Array.from({ length: 2200 * (i === 0 ? 2 : 1) }, () =>
				JSON.stringify({ traces: [{ nodes: [{}] }], text: 'x'.repeat(8000) }),
			);
			await writeFile(join(folder, stream, name), `${lines.join('\n')}\n`);
		}
		const run = await openRun(join(folder, 'faults'));
		await run.steps();
		const files = run.faults.map(({ file }) => file);
		assert.equal(files.length, 8800);
		assert.deepEqual(files, [...files].sort());
	});
});
