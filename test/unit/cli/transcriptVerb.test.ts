import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { builtProgram } from '../../support/programs.ts';
import { reflexionFile } from '../core/transcript/reflexion.ts';

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

test('does not wait for a pipe', { skip: process.platform === 'win32' }, async (t) => {
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
