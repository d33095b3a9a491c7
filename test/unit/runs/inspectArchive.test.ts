import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib';
import type { Failure } from '../../../src/base/failure.ts';
import { readTranscript } from '../../../src/core/transcript/readTranscript.ts';
import { openTranscriptText } from '../../../src/extension/panels/transcript/transcriptSource.ts';
import { inspectArchiveText, isZip, withoutZstd } from '../../../src/runs/inspectArchive.ts';
import { root } from '../../scripts/paths.ts';

interface Member {
	readonly name: string;
	readonly text: string;
	readonly method?: number;
	/** Size claimed in the directory, instead of the actual length. */
	readonly size?: number;
}

/** Builds a minimal zip archive (APPNOTE.TXT 4.3), without fields that are not read. */
function zip(members: readonly Member[]): Buffer {
	const parts: Buffer[] = [];
	const directory: Buffer[] = [];
	let at = 0;
	for (const { name, text, method = 8, size } of members) {
		const plain = Buffer.from(text);
		const body = method === 93 ? zstdCompressSync(plain) : method === 8 ? deflateRawSync(plain) : plain;
		const fields = Buffer.alloc(26);
		fields.writeUInt16LE(20, 0);
		fields.writeUInt16LE(method, 4);
		fields.writeUInt32LE(crc32(plain), 10);
		fields.writeUInt32LE(body.length, 14);
		fields.writeUInt32LE(size ?? plain.length, 18);
		fields.writeUInt16LE(name.length, 22);
		const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), body]);
		const tail = Buffer.alloc(14);
		tail.writeUInt32LE(at, 10);
		directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, tail, Buffer.from(name)]));
		parts.push(local);
		at += local.length;
	}
	const list = Buffer.concat(directory);
	const end = Buffer.alloc(22);
	end.write('PK\x05\x06', 'latin1');
	end.writeUInt16LE(members.length, 10);
	end.writeUInt32LE(list.length, 12);
	end.writeUInt32LE(at, 16);
	return Buffer.concat([...parts, list, end]);
}

const sample = (id: number, more: object = {}) =>
	JSON.stringify({ id, epoch: 1, input: 'q', output: {}, messages: [{ role: 'user', content: `q${id}` }], ...more });
const refuses = (bytes: Uint8Array, words: RegExp) =>
	assert.rejects(inspectArchiveText(bytes, 'a.eval'), (error: Failure) => words.test(error.toString()));

describe('an Inspect .eval file', () => {
	test('is read as written by Inspect, compressed with Zstandard', async () => {
		const bytes = await readFile(join(root, 'test/fixtures/inspect/add.eval'));
		assert.ok(isZip(bytes));
		const { transcripts, faults } = readTranscript(await inspectArchiveText(bytes, 'add.eval'), 'add.eval');
		assert.equal(transcripts.length, 20);
		assert.deepEqual(faults, []);
		for (const { messages } of transcripts) {
			const answer = messages.at(-1);
			assert.equal(answer?.role, 'assistant');
			assert.ok((answer?.usage?.completion ?? 0) > 0);
		}
	});

	test('opens in the editor, piece by piece', async () => {
		const text = await openTranscriptText({ kind: 'file', file: join(root, 'test/fixtures/inspect/add.eval') });
		let whole = '';
		for (let from: number | null = 0; from !== null; ) {
			const piece: { text: string; next: number | null } = await text.piece(from);
			whole += piece.text;
			from = piece.next;
		}
		await text.close();
		assert.equal(whole.length, text.size);
		assert.equal(readTranscript(whole, 'add.eval').transcripts.length, 20);
	});

	test('is read with every compression method, ignoring everything but its samples', async () => {
		const members = [0, 8, 93].map((method, i) => ({ name: `samples/${i}_epoch_1.json`, text: sample(i), method }));
		const text = await inspectArchiveText(zip([{ name: 'header.json', text: '{' }, ...members]), 'a.eval');
		assert.deepEqual(
			readTranscript(text, 'a').transcripts.map(({ messages }) => messages[0]?.text),
			['q0', 'q1', 'q2'],
		);
	});

	test('is rejected if hostile or damaged, without decoding more than it declares', async () => {
		const name = 'samples/1_epoch_1.json';
		const big = `${' '.repeat(70 << 20)}{}`;
		await refuses(zip([{ name, text: big }]), /too large: samples\/1_epoch_1\.json has \d+ bytes/);
		await refuses(zip([{ name, text: big, size: 100 }]), /Cannot read samples\/1_epoch_1\.json/);
		await refuses(zip([{ name, text: big, size: 100, method: 93 }]), /Cannot read samples\/1_epoch_1\.json/);
		const large = { name, text: sample(1, { scores: null, input: ' '.repeat(9 << 20) }) };
		await refuses(zip([large, large, large, large]), /conversations are larger than 32 MB/);
		await refuses(zip([{ name, text: sample(1), method: 12 }]), /method 12/);
		await refuses(zip([{ name, text: '[1' }]), /Cannot read samples/);
		await refuses(zip([{ name: 'other.json', text: '{}' }]), /without Inspect samples/);
		const whole = zip([{ name, text: sample(1) }]);
		await refuses(whole.subarray(0, 60), /no end record/);
		const many = Buffer.from(whole);
		many.writeUInt16LE(30_000, many.length - 12);
		await refuses(many, /30000 entries/);
		const missing = Buffer.from(whole);
		missing.writeUInt16LE(5, missing.length - 12);
		await refuses(missing, /entry 2 in its directory is missing/);
	});

	test('is rejected with an action if Zstandard is not available', () => {
		assert.match(
			withoutZstd('a.eval', '22.14.0').toString(),
			/Node\.js 22\.14\.0 does not support.*inspect log convert/s,
		);
	});
});
