import assert from 'node:assert/strict';
import { appendFile, mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkTranscript } from '../../../../src/core/transcript/checkTranscript.ts';
import { readTranscript } from '../../../../src/core/transcript/readTranscript.ts';
import { tokenTotals } from '../../../../src/core/transcript/tokenTotals.ts';
import { inspectInThread } from '../../../../src/runs/transcript/inspectInThread.ts';
import { type InspectedFile, inspectLines } from '../../../../src/runs/transcript/inspectLines.ts';
import { MessageLines } from '../../../../src/runs/transcript/messageLines.ts';

async function written(t: TestContext, text: string | Uint8Array): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'lines-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const path = join(folder, 'chat.jsonl');
	await writeFile(path, text);
	return path;
}

async function fileOf(path: string): Promise<InspectedFile> {
	const { dev, ino, size } = await stat(path, { bigint: true });
	return { path, dev, ino, size: Number(size) };
}

/** Returns all lines of a file with their numbers. */
async function allLines(path: string, lines: MessageLines): Promise<[number, string | null][]> {
	const handle = await open(path);
	try {
		const found: [number, string | null][] = [];
		while (found.length < lines.count) {
			const loaded = await lines.load(handle, found.length, 100);
			assert.ok(loaded.lines.length > 0);
			for (const [i, text] of loaded.lines.entries()) found.push([loaded.numbers[i] as number, text]);
		}
		return found;
	} finally {
		await handle.close();
	}
}

/** Splits text the way the reader should. */
function expected(text: string): [number, string][] {
	return text
		.split('\n')
		.map((line, i): [number, string] => [i + 1, line])
		.filter(([, line]) => !/^[ \t\r]*$/.test(line));
}

test('lines are found across chunks and blank lines, and again when the file has grown', async (t) => {
	const message = (i: number) => JSON.stringify({ role: 'user', content: `é${i} `.repeat(1 + (i % 400)) });
	// Blank lines also fall on the boundaries of 1 MiB chunks.
	let text = '';
	for (let i = 0; text.length < (1 << 20) - 2000; i++) text += `${message(i)}\n`;
	text += `${' '.repeat(40)}\n`.repeat(60);
	for (let i = 0; i < 2000; i++) text += `${i % 7 === 0 ? '\r\n \n' : ''}${message(i)}\r\n`;
	const path = await written(t, text);
	const handle = await open(path);
	t.after(() => handle.close());
	const lines = new MessageLines();
	const whole = Buffer.byteLength(text);
	// Ends within lines, within characters and within blank lines.
	for (const size of [10, 1 << 20, (1 << 20) + 1, whole - 3, whole]) {
		await lines.extend(handle, size);
		const part = Buffer.from(text).subarray(0, size).toString('utf8');
		assert.equal(lines.count, expected(part).length, `${size} bytes`);
	}
	assert.deepEqual(await allLines(path, lines), expected(text));
	assert.ok(await lines.continues(handle, whole));
	await appendFile(path, '{"role":"assi');
	await lines.extend(handle, whole + 13);
	const last = await lines.load(handle, lines.count - 1, 5);
	assert.deepEqual([last.lines, last.open], [['{"role":"assi'], true]);
	await writeFile(path, text.replaceAll('é', 'è'));
	assert.equal(await lines.continues(handle, whole + 20), false, 'the file has changed');
});

const call = (id: string) => ({ id, type: 'function', function: { name: 'search', arguments: '{"query":"tea"}' } });
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };

test('inspecting a log by lines gives the same results as reading it completely', async (t) => {
	const rows: unknown[] = [];
	for (let i = 0; i < 40; i++) {
		rows.push({ role: 'assistant', content: `Number ${i}`, tool_calls: [call(`a${i}`), call(`b${i}`)], usage });
		rows.push({ role: 'tool', tool_call_id: `a${i}`, content: 'Error: none', status: 'error' });
		if (i % 2 === 0) rows.push({ role: 'tool', tool_call_id: `b${i}`, content: 'Some tea' });
	}
	const two = ['c', 'd'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'Both' }));
	const uses = ['c', 'd'].map((id) => ({ type: 'tool_use', id, name: 'search', input: { query: id } }));
	const lines = rows.map((row) => JSON.stringify(row));
	lines.splice(3, 0, '', 'not JSON', '{"a":1}');
	lines.push(JSON.stringify({ role: 'assistant', content: uses }), JSON.stringify({ role: 'user', content: two }));
	const text = `${lines.join('\n')}\n{"role":"us`;
	const path = await written(t, text);
	const found = await inspectInThread(await fileOf(path)).result;
	const {
		transcripts: [transcript],
		faults,
	} = readTranscript(text, 'chat');
	assert.ok(transcript);
	assert.equal(found.messages, transcript.messages.length);
	assert.deepEqual(found.totals, tokenTotals(transcript));
	const plain = ({ severity, title, text: why }: { severity: string; title: string; text: string }) => ({
		...{ severity, title, why },
	});
	assert.ok(found.findings.length > 10);
	assert.deepEqual(found.findings.map(plain), checkTranscript(transcript).map(plain));
	assert.deepEqual(
		found.faults.map(({ place }) => place?.line),
		[5, 6, lines.length + 1],
	);
	assert.deepEqual(faults.map(({ place }) => place?.line).sort(), found.faults.map(({ place }) => place?.line).sort());
	// The last line has two messages, and the incomplete one is not counted.
	const [nonblank, lineOf] = [lines.length - 1, [...(found.lineOf ?? [])]];
	assert.equal(found.lines, nonblank);
	assert.deepEqual(lineOf.slice(0, 5), [0, 1, 2, 5, 6]);
	assert.deepEqual(lineOf.slice(-3), [nonblank - 2, nonblank - 1, nonblank - 1]);
	const links = transcript.links.flatMap(({ message, call: at, results }) =>
		results.flatMap((one) => [message, at, one]),
	);
	assert.deepEqual([...found.links], links);
});

test('a log with one message per line needs no line map, and a replaced file is not inspected', async (t) => {
	const path = await written(t, `${JSON.stringify({ role: 'user', content: 'One' })}\n`.repeat(50));
	const file = await fileOf(path);
	assert.equal((await inspectLines(file)).lineOf, null);
	await assert.rejects(inspectLines({ ...file, ino: file.ino + 1n }), /was replaced/);
	await assert.rejects(inspectInThread({ ...file, path: `${path}.gone` }).result, /ENOENT/);
	const running = inspectInThread(file);
	running.cancel();
	await assert.rejects(running.result, /ended/);
});
