import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readTranscript } from '../../../../../src/core/transcript/readTranscript.ts';
import { tokenTotals } from '../../../../../src/core/transcript/tokenTotals.ts';
import { TranscriptSession } from '../../../../../src/extension/panels/transcript/transcriptSession.ts';
import { openTranscriptText } from '../../../../../src/extension/panels/transcript/transcriptSource.ts';
import type { TranscriptText } from '../../../../../src/extension/panels/transcript/transcriptText.ts';
import { ZipArchive } from '../../../../../src/files/zipArchive.ts';
import type { TranscriptEvent } from '../../../../../src/protocol/transcriptMessages.ts';
import { inspectInThread } from '../../../../../src/runs/transcript/inspectInThread.ts';
import { archivedSamples, writtenSamples } from '../../../../../src/runs/transcript/loggedSamples.ts';
import { spoolSample } from '../../../../../src/runs/transcript/spooledLines.ts';
import { longArchive, longSample } from '../../../../support/longSample.ts';
import { zipFile } from '../../../../support/zipFile.ts';
import { soon } from '../../../webview/lateness.ts';

/** Number of messages whose text exceeds the part that is read first. */
const count = 16_000;

async function written(t: TestContext, bytes: Buffer): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'samples-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const file = join(folder, 'log.eval');
	await writeFile(file, bytes);
	return file;
}

async function opened(t: TestContext, file: string, sample: number): Promise<TranscriptText> {
	const text = await openTranscriptText({ kind: 'file', file }, null, sample);
	t.after(() => text.close());
	return text;
}

async function linesOf(text: TranscriptText): Promise<unknown[]> {
	const lines: unknown[] = [];
	while (lines.length < (text.byLines?.count ?? 0)) {
		const loaded = await text.byLines?.load(lines.length, 1000);
		for (const line of loaded?.lines ?? []) lines.push(JSON.parse(line ?? 'null'));
	}
	return lines;
}

const bytesSource = (bytes: Buffer) => ({
	size: bytes.length,
	read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
});

const temporary = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('reasoning-lab-transcript-'));

test('a long sample read in parts equals the same sample read as a whole, with every compression method', async (t) => {
	const whole = readTranscript(`{"eval":{},"samples":[${longSample('long', count)}]}`, 'log').transcripts[0];
	assert.ok(whole);
	for (const method of [0, 8, 93] as const) {
		const text = await opened(t, await written(t, longArchive(count, method)), 1);
		assert.deepEqual(text.samples, {
			titles: ['Sample a', 'Sample long', 'Sample b, epoch 2', 'Sample failed', 'Sample empty'],
			index: 1,
		});
		const first = text.byLines?.count ?? 0;
		assert.ok(first > 0 && first < count, 'the first messages are shown before the others have been read');
		await text.byLines?.ready;
		assert.equal(text.byLines?.count, count);
		if (method !== 93) {
			const last = await text.byLines?.load(count - 1, 1);
			assert.match(last?.lines[0] ?? '', new RegExp(`"id":"m${count - 1}"`));
			continue;
		}
		const read = readTranscript((await linesOf(text)).map((line) => JSON.stringify(line)).join('\n'), 'log');
		const plain = (messages: readonly object[] = []) => messages.map((message) => ({ ...message, place: null }));
		assert.deepEqual(plain(read.transcripts[0]?.messages), plain(whole.messages));
		assert.equal(read.transcripts[0]?.messages[2]?.text, 'A long text');
		const { file } = text.byLines as { file: Parameters<typeof inspectInThread>[0] };
		const found = await inspectInThread(file).result;
		assert.equal(found.messages, count);
		assert.deepEqual(found.totals, tokenTotals(whole));
		assert.equal(found.calls, whole.links.length);
		assert.deepEqual(found.faults, []);
	}
});

test('the last copy of a sample counts, and failed, empty and damaged samples are described', async (t) => {
	const file = await written(t, longArchive(count));
	const faults = async (text: TranscriptText) => {
		await text.byLines?.ready;
		return text.byLines?.file.context?.faults.map(({ message }) => message);
	};
	assert.equal((await opened(t, file, 2)).byLines?.count, 4);
	const failed = await opened(t, file, 3);
	assert.deepEqual([await faults(failed), failed.byLines?.count], [['Sample failed failed: sandbox lost'], count]);
	assert.deepEqual(await linesOf(await opened(t, file, 4)), [{ role: 'user', content: 'q' }]);
	assert.equal((await opened(t, file, 99)).samples?.index, 4);

	const long = longSample('x', count);
	const cases: [string, Buffer, RegExp][] = [
		['ends early', zipFile([{ name: 'samples/x_epoch_1.json', text: long.slice(0, 5e6) }]), /ends too early/],
		['no object', zipFile([{ name: 'samples/x_epoch_1.json', text: `[${' '.repeat(5e6)}]` }]), /not an object/],
		['wrong size', zipFile([{ name: 'samples/x_epoch_1.json', text: long, size: 6e6 }]), /size or checksum/],
		['method', zipFile([{ name: 'samples/x_epoch_1.json', text: long, method: 12 }]), /method 12/],
		['truncated', zipFile([{ name: 'samples/x_epoch_1.json', text: long, method: 0 }]).subarray(0, 5e6), /damaged/],
	];
	for (const [name, bytes, words] of cases) {
		const text = await opened(t, await written(t, bytes), 0);
		assert.match((await faults(text))?.join() ?? '', words, name);
		assert.ok((text.byLines?.count ?? 0) > 0, name);
	}
});

test('damaged compressed data neither crashes nor blocks the process, even if the panel is closed first', async (t) => {
	for (const method of [8, 93] as const) {
		const archive = longArchive(count, method);
		const third = Math.floor(archive.length / 3);
		for (const [name, bytes] of [
			['bytes', Buffer.from(archive).fill(0x55, third, third + 20_000)],
			['end', archive.subarray(0, third)],
		] as const) {
			const file = await written(t, bytes);
			await (await openTranscriptText({ kind: 'file', file }, null, 1)).close();
			const text = await openTranscriptText({ kind: 'file', file }, null, 1);
			await text.byLines?.ready;
			assert.ok((text.byLines?.file.context?.faults.length ?? 0) > 0, `${method}, ${name}`);
			await text.close();
		}
	}
});

test('a rollout with thousands of messages is read in parts', async (t) => {
	const folder = dirname(await written(t, Buffer.alloc(0)));
	const messages = Array.from({ length: 6000 }, (_, i) => ({
		role: i % 2 ? 'assistant' : 'user',
		content: `Turn ${i}`,
	}));
	await writeFile(join(folder, 'chat.jsonl'), `${JSON.stringify({ messages })}\n`);
	const text = await openTranscriptText({ kind: 'rollout', run: folder, split: 'train', step: 0, group: 0, index: 0 });
	t.after(() => text.close());
	assert.equal(text.samples, undefined);
	await text.byLines?.ready;
	const lines = (await linesOf(text)) as { content: unknown }[];
	assert.deepEqual(
		lines.map(({ content }) => content),
		messages.map(({ content }) => content),
	);
});

test('a session shows the lines of a sample as they are read, and another sample on request', async (t) => {
	const before = await temporary();
	const file = await written(t, longArchive(count));
	const events: TranscriptEvent[] = [];
	const post = (event: TranscriptEvent) => events.push(event);
	const session = new TranscriptSession({ place: { kind: 'file', file }, label: 'log.eval', post });
	t.after(() => session.dispose());
	await session.begin();
	const snapshots = () => events.filter((event) => event.type === 'snapshot');
	assert.deepEqual(snapshots()[0]?.sample, { title: 'Sample a', index: 0, count: 5 });
	await session.choose(1);
	await soon(() => assert.equal(snapshots().at(-1)?.lines, count));
	const grown = snapshots().filter(({ sample }) => sample?.index === 1);
	assert.deepEqual(
		grown.map((event) => event.grown),
		[false, ...grown.slice(1).map(() => true)],
	);
	assert.ok(grown.length > 1);
	await soon(() => assert.equal(events.findLast((event) => event.type === 'inspected')?.inspection?.messages, count));
	const { length } = events;
	await session.choose(77);
	await session.refresh();
	assert.equal(events.length, length, 'nothing has changed');
	session.dispose();
	await soon(async () => assert.deepEqual(await temporary(), before, 'temporary files are removed'));
});

/** JSON log with the given samples, padded with spaces until it is too long to be read at once. */
function longLog(samples: readonly string[]): Buffer {
	const spaces = ' '.repeat(33 << 20);
	const text = `{"version":2,"status":"success","eval":{"task":"t"},"samples":[${samples.join(',')}],${spaces}"reductions":[]}`;
	return Buffer.from(text);
}

test('samples of a long JSON log are read one at a time', async (t) => {
	const whole = readTranscript(`{"eval":{},"samples":[${longSample('long', count)}]}`, 'log').transcripts[0];
	const small = JSON.stringify({ id: 7, epoch: 2, messages: [{ role: 'user', content: '"samples":[{"id":1}' }] });
	const file = await written(t, longLog([small, longSample('long', count), '{"messages":[]}', '5']));
	const text = await opened(t, file, 1);
	assert.deepEqual(text.samples, { titles: ['Sample 7, epoch 2', 'Sample long', 'Sample 3', 'Sample 4'], index: 1 });
	await text.byLines?.ready;
	assert.equal(text.byLines?.count, count);
	const read = readTranscript((await linesOf(text)).map((line) => JSON.stringify(line)).join('\n'), 'log');
	const plain = (messages: readonly object[] = []) => messages.map((message) => ({ ...message, place: null }));
	assert.deepEqual(plain(read.transcripts[0]?.messages), plain(whole?.messages));
	const first = await openTranscriptText({ kind: 'file', file }, text, 0);
	t.after(() => first.close());
	assert.deepEqual(await linesOf(first), [{ role: 'user', content: '"samples":[{"id":1}' }]);
	// An unchanged sample is not read again.
	const again = await openTranscriptText({ kind: 'file', file }, first, 0);
	assert.equal(again.identity, first.identity);
	assert.equal(again.byLines, undefined);
	await again.close();
	for (const sample of [2, 3]) assert.equal((await opened(t, file, sample)).byLines?.count, 1);
});

test('closing the panel ends the search for the samples of a JSON log', async (t) => {
	const stop = new AbortController();
	let reads = 0;
	const read = async (_: number, length: number) => {
		if (++reads === 3) stop.abort();
		return Buffer.alloc(length, ' ');
	};
	await assert.rejects(writtenSamples({ size: 2 ** 33, read }, stop.signal), { reason: 'cancelled' });
	assert.ok(reads < 100, `${reads} reads`);
	const file = await written(t, longLog([longSample('a', 1)]));
	const session = new TranscriptSession({
		place: { kind: 'file', file },
		label: 'log.json',
		post: () => assert.fail(),
	});
	const begun = session.begin();
	session.dispose();
	await begun;
	const before = await temporary();
	const long = archivedSamples(await ZipArchive.open(bytesSource(longArchive(count))))[1];
	assert.ok(long);
	await assert.rejects(spoolSample(long, { signal: AbortSignal.abort() }), { reason: 'cancelled' });
	assert.deepEqual(await temporary(), before);
});

test('a truncated or damaged JSON log is read up to the fault, which is reported', async (t) => {
	const faults = async (bytes: Buffer, sample = 0) => {
		const text = await opened(t, await written(t, bytes), sample);
		await text.byLines?.ready;
		return { titles: text.samples?.titles, faults: text.byLines?.file.context?.faults.map(({ message }) => message) };
	};
	const samples = ['a', 'b', 'c'].map((id) => JSON.stringify({ id, messages: [{ role: 'user', content: 'q' }] }));
	const long = longLog(samples);
	assert.deepEqual(await faults(long), { titles: ['Sample a', 'Sample b', 'Sample c'], faults: [] });
	assert.deepEqual(await faults(long.subarray(0, -3)), {
		titles: ['Sample a', 'Sample b', 'Sample c'],
		faults: ['log.eval ends too early: samples are missing'],
	});
	const inside = Buffer.from(samples.join(',')).length;
	const cut = Buffer.concat([long.subarray(0, 60 + inside - 5), Buffer.alloc(33 << 20, ' ')]);
	assert.deepEqual((await faults(cut)).titles, ['Sample a', 'Sample b']);
	const none = Buffer.concat([Buffer.from('{"version":2,"status":"error","eval":{}'), Buffer.alloc(33 << 20, ' ')]);
	await assert.rejects(faults(none), /Cannot read the samples of log\.eval: it ends too early/);
	const deep = Buffer.concat([
		Buffer.from('{"version":2,"status":"error","eval":{},"samples":'),
		Buffer.alloc(33 << 20, '['),
	]);
	await assert.rejects(faults(deep), /is not valid JSON: values are nested more than/);
});
