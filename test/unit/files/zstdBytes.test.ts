import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import type { Frame } from '../../../src/files/frame.ts';
import { LineFile } from '../../../src/files/lineFile.ts';
import { OpenedFile } from '../../../src/files/openedFile.ts';
import { ZstdBytes } from '../../../src/files/zstdBytes.ts';
import { zstdFile } from '../../support/zstdFile.ts';

let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'zstd-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const lines = Array.from({ length: 12 }, (_, i) => `{"line": ${i}, "text": "${'é'.repeat(i)}"}\n`);
const text = lines.join('');
/** Frames that end in the middle of lines. */
const parts = [0, 1, 2, 3].map((i) => text.slice((i * text.length) / 4, ((i + 1) * text.length) / 4));

async function opened(data: Buffer): Promise<LineFile> {
	await writeFile(join(folder, 'a.jsonl.zst'), data);
	return new LineFile(await ZstdBytes.open(await OpenedFile.open(folder, 'a.jsonl.zst')));
}

async function framesOf(data: Buffer): Promise<Frame[]> {
	const file = await opened(data);
	const frames: Frame[] = [];
	for await (const frame of file.frames()) {
		frames.push(frame);
		if (frame.fault === null) assert.deepEqual(await file.frame(frame), frame);
	}
	await file.close();
	return frames;
}
const numbers = (frames: readonly Frame[]) =>
	frames.flatMap(({ records }) => records.map((record) => (record as { line: number }).line));
const faults = (frames: readonly Frame[]) => frames.flatMap(({ fault }) => fault ?? []);
const all = lines.map((_, i) => i);

describe('lines in a file with Zstandard frames', () => {
	for (const table of [false, true]) {
		test(`are read across frames and by their location${table ? ', with a seek table' : ''}`, async () => {
			const frames = await framesOf(zstdFile(parts, table));
			assert.deepEqual(numbers(frames), all);
			assert.deepEqual(faults(frames), []);
			assert.equal(frames.at(-1)?.offset, Buffer.byteLength(lines.slice(0, -1).join('')));
		});

		test(`are read around a damaged frame${table ? ', with a seek table' : ''}`, async () => {
			const data = zstdFile(parts, table);
			const second = zstdFile(parts.slice(0, 1)).length;
			// Reserved block type in the first block header of the second frame.
			data.fill(0xff, second + 6, second + 12);
			const frames = await framesOf(data);
			const found = faults(frames);
			assert.equal(found.length, 1);
			assert.match(found[0] ?? '', new RegExp(`^bytes ${second} to \\d+ of the compressed file are unreadable`));
			const read = numbers(frames);
			assert.ok(read.length >= 7 && read.length < lines.length, `${read}`);
			assert.deepEqual([read[0], read.at(-1)], [0, 11]);
		});
	}

	test('are read from the complete blocks of a truncated frame', async () => {
		const long = Array.from({ length: 30_000 }, (_, i) => `{"line": ${i}, "value": ${Math.sin(i)}}\n`);
		const whole = zstdCompressSync(Buffer.from(long.join('')));
		const frames = await framesOf(whole.subarray(0, whole.length >> 1));
		const read = numbers(frames);
		assert.ok(read.length > 5000, `${read.length} lines`);
		assert.deepEqual(
			read,
			read.map((_, i) => i),
		);
		assert.deepEqual(faults(frames).length, 1);
		assert.match(faults(frames)[0] ?? '', /truncated: its last frame, at byte 0, is incomplete/);
		assert.equal(frames.at(-1)?.torn, true);
	});

	test('are followed by a message if the file ends within a frame header, or is not compressed', async () => {
		const whole = zstdFile(parts);
		const cut = await framesOf(Buffer.concat([whole, whole.subarray(0, 5)]));
		assert.deepEqual(numbers(cut), all);
		assert.match(faults(cut)[0] ?? '', /truncated/);
		assert.deepEqual(numbers(await framesOf(Buffer.from(text))), []);
		assert.match(faults(await framesOf(Buffer.from(text)))[0] ?? '', /no Zstandard frame/);
		assert.deepEqual(await framesOf(Buffer.alloc(0)), []);
	});

	test('ignore a seek table that does not match the file', async () => {
		const data = zstdFile(parts, true);
		const table = data.readUInt32LE(data.length - 9) * 8 + 9;
		data.writeUInt32LE(data.readUInt32LE(data.length - table) + 1, data.length - table);
		assert.deepEqual(numbers(await framesOf(data)), all);
		data.writeUInt32LE(0xffffffff, data.length - 9);
		assert.deepEqual(numbers(await framesOf(data)), all);
	});
});
