import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Failure } from '../../../src/base/failure.ts';
import { readTranscript } from '../../../src/core/transcript/readTranscript.ts';
import { openTranscriptText } from '../../../src/extension/panels/transcript/transcriptSource.ts';
import { isZip } from '../../../src/files/zipArchive.ts';
import { withoutZstd } from '../../../src/files/zstdFrames.ts';
import { inspectArchiveText } from '../../../src/runs/inspectArchive.ts';
import { root } from '../../scripts/paths.ts';
import { zipFile as zip } from '../../support/zipFile.ts';

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
		const members = ([0, 8, 93] as const).map((method, i) => ({
			name: `samples/${i}_epoch_1.json`,
			text: sample(i),
			method,
		}));
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
		await refuses(many, /entry 2 in its directory is missing/);
	});

	test('is rejected with a suggested action if Zstandard is not available', () => {
		assert.match(withoutZstd('22.14.0').toString(), /not supported by Node\.js 22\.14\.0.*inspect log convert/s);
	});
});
