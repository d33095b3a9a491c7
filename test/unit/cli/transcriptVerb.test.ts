import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { CliOutput } from '../../../src/cli/cliOutput.ts';
import { transcriptVerb } from '../../../src/cli/transcriptVerb.ts';
import { checkTranscript } from '../../../src/core/transcript/checkTranscript.ts';
import { readTranscript } from '../../../src/core/transcript/readTranscript.ts';
import { tokenTotals } from '../../../src/core/transcript/tokenTotals.ts';
import { longArchive, longSample } from '../../support/longSample.ts';
import { builtProgram } from '../../support/programs.ts';
import { reflexionFile } from '../core/transcript/reflexion.ts';

interface Report {
	readonly transcripts: readonly {
		readonly title: string;
		readonly messages: number;
		readonly calls: number;
		readonly tokens: object;
		readonly checked: boolean;
		readonly findings: unknown;
	}[];
	readonly faults: unknown;
}

const temporary = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('reasoning-lab-transcript-'));

const run = (...args: string[]) =>
	promisify(execFile)(process.execPath, [builtProgram('dist/cli.js'), 'transcript', ...args]);

test('a transcript is printed as text and as JSON', async () => {
	const { stdout } = await run(reflexionFile);
	assert.match(stdout, /^8 messages, 4 calls, 16,475 \+ 2,260 = 18,735 tokens\n/);
	assert.match(stdout, /error: ReviseAnswer lacks reflection and search_queries\./);
	const json = JSON.parse((await run(reflexionFile, '--json')).stdout);
	const [transcript] = json.transcripts;
	assert.deepEqual([json.format, transcript.messages, transcript.tokens.total], ['python', 8, 18_735]);
	assert.ok(transcript.findings.some(({ check }: { check: string }) => check === 'retry'));
});

test('a file that is not a transcript is rejected with one message', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'transcript-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const file = join(folder, 'words.txt');
	await writeFile(file, 'nothing \u001b[31m here');
	await assert.rejects(run(file), (error: { code: number; stderr: string }) => {
		assert.match(error.stderr, /words\.txt does not contain a list of messages\. Open a chat log in JSON/);
		return error.code !== 0;
	});
	await assert.rejects(run(join(folder, 'gone.txt')), /no such file/);
});

test('long logs are read in parts: JSONL lines, and the samples of an archive or a JSON log', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'transcript-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const before = await temporary();
	const output = async (name: string, content: string | Buffer) => {
		await writeFile(join(folder, name), content);
		const out = new PassThrough();
		const printed = new CliOutput(true, out as unknown as NodeJS.WriteStream);
		assert.equal(await transcriptVerb.run({ output: printed, args: [join(folder, name)], engine: '' }), 0);
		return (await json(out.end())) as Report;
	};
	// More messages than are read at once.
	const line = (i: number) =>
		JSON.stringify({ role: i % 2 ? 'assistant' : 'user', content: `Turn ${i} ${'of many '.repeat(6)}` });
	const chat = await output(
		'chat.jsonl',
		`${Array.from({ length: 21_000 }, (_, i) => line(i)).join('\n')}\n{"role": "user"`,
	);
	assert.deepEqual(
		chat.transcripts.map(({ title, messages, checked }) => [title, messages, checked]),
		[['All lines', 21_000, true]],
	);
	assert.deepEqual(chat.faults, [{ place: { line: 21_001, column: 1 }, message: 'The last line is incomplete' }]);

	const count = 9000;
	const archive = await output('log.eval', longArchive(count));
	const titles = ['Sample a', 'Sample long', 'Sample b, epoch 2', 'Sample failed', 'Sample empty'];
	assert.deepEqual(
		archive.transcripts.map(({ title, messages }) => [title, messages]),
		titles.map((title, i) => [title, [1, count, 4, count, 1][i]]),
	);
	const whole = readTranscript(`{"eval":{},"samples":[${longSample('long', count)}]}`, 'log').transcripts[0];
	assert.ok(whole);
	const long = archive.transcripts[1];
	assert.deepEqual([long?.calls, long?.tokens], [whole.links.length, JSON.parse(JSON.stringify(tokenTotals(whole)))]);
	assert.deepEqual(long?.findings, JSON.parse(JSON.stringify(checkTranscript(whole))));
	assert.deepEqual(archive.faults, [{ place: null, message: 'Sample failed failed: sandbox lost' }]);

	// The padding makes the log too long to be read at once; its end is missing.
	const padding = JSON.stringify('x'.repeat(33 << 20));
	const text = `{"version":2,"status":"success","eval":{},"samples":[${longSample('a', 4)},${longSample('b', 1)}],"x":${padding}`;
	const log = await output('log.json', text);
	assert.deepEqual(
		log.transcripts.map(({ title, messages }) => [title, messages]),
		[
			['Sample a', 4],
			['Sample b', 1],
		],
	);
	assert.deepEqual(log.faults, [{ place: null, message: 'log.json ends too early: samples are missing' }]);
	assert.deepEqual(await temporary(), before);
});

test('rejects a pipe without waiting for it', { skip: process.platform === 'win32' }, async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'transcript-verb-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	await promisify(execFile)('mkfifo', [join(folder, 'pipe.jsonl')]);
	const cli = [builtProgram('dist/cli.js'), 'transcript', join(folder, 'pipe.jsonl')];
	const result = promisify(execFile)(process.execPath, cli, { timeout: 30_000 });
	await assert.rejects(result, (error: { code: number; stderr: string }) => {
		assert.match(error.stderr, /pipe\.jsonl is not a regular file/);
		return error.code === 2;
	});
});
