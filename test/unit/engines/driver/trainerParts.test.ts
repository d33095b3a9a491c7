import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { takeDriverArguments } from '../../../../src/engines/driver/driverArguments.ts';
import { LengthGuard } from '../../../../src/engines/driver/lengthGuard.ts';
import { linkProblems } from '../../../../src/engines/driver/linkProblems.ts';
import { explainEnd, lastError } from '../../../../src/engines/driver/trainerEnd.ts';
import { namesHub, trainerEnvironment } from '../../../../src/engines/driver/trainerEnvironment.ts';

async function through(text: string, portion: number): Promise<string> {
	const bytes = Buffer.from(text, 'latin1');
	const chunks = Array.from({ length: Math.ceil(bytes.length / portion) }, (_, i) =>
		bytes.subarray(i * portion, (i + 1) * portion),
	);
	const passed: Buffer[] = [];
	for await (const chunk of Readable.from(chunks).pipe(new LengthGuard(100))) passed.push(chunk as Buffer);
	return Buffer.concat(passed).toString('latin1');
}

/** Returns the guard's error message, or 'passed'. Source errors do not propagate through a pipe; guard errors do. */
async function refusal(text: string, portion: number): Promise<string> {
	return through(text, portion).then(
		() => 'passed',
		(error: Error) => error.message,
	);
}

it('messages pass the guard however they are split; oversized and malformed messages do not', async () => {
	const message = (body: string) => `Content-Length: ${body.length}\r\nContent-Type: x\r\n\r\n${body}`;
	const text = message('{"a":1}') + message('x'.repeat(100)) + message('') + message('Content-Length: 999\r\n\r\n');
	for (const portion of [1, 2, 3, 7, 64, 1000]) {
		assert.equal(await through(text, portion), text);
		assert.match(
			await refusal(message('ok') + message('x'.repeat(101)), portion),
			/101 bytes, which exceeds the limit of 100/,
		);
		assert.match(await refusal('Content-Lenght: 3\r\n\r\nabc', portion), /without a Content-Length header/);
		assert.match(await refusal('no message '.repeat(1000), portion), /invalid message/);
	}
});

it('large training problems are sent in several parts, each with at least one problem', () => {
	const problem = (size: number) => ({ prompt: 'p', answer: '1', solution: null, row: { text: 'x'.repeat(size) } });
	const given = (size: number, count: number) => {
		const source = { training: () => problem(size), heldOut: (n: number) => new Array(n).fill(problem(size)) };
		const side = (split: 'training' | 'heldout') =>
			linkProblems(source as never, 1, { split, from: 7, count }).problems.map(({ index }) => index);
		return [side('training'), side('heldout')];
	};
	assert.deepEqual(given(10, 3), [
		[7, 8, 9],
		[7, 8, 9],
	]);
	assert.deepEqual(given(10 << 20, 4), [
		[7, 8],
		[7, 8, 9, 10],
	]);
	assert.deepEqual(given(20 << 20, 2), [[7], [7, 8]]);
});

it('the number of problems is the number of rows, and unknown for a task', () => {
	const problem = { prompt: 'p', answer: '1', solution: null, row: {} };
	const task = { training: () => problem, heldOut: (n: number) => new Array(Math.min(n, 9)).fill(problem) };
	const totals = (source: object) =>
		(['training', 'heldout'] as const).map(
			(split) => linkProblems(source as never, 1, { split, from: 0, count: 0 }).total,
		);
	assert.deepEqual(totals(task), [null, null]);
	assert.deepEqual(totals({ ...task, trainingRows: 4 }), [4, 9]);
});

it('the end of a trainer is explained by its signal, exit status and last output', () => {
	const at = { step: 12, checkpoint: 10, outOfMemory: null };
	const killed = explainEnd({ code: null, signal: 'SIGKILL', words: '' }, { ...at, outOfMemory: true });
	assert.match(killed.message, /killed after step 12 because the machine ran out of memory/);
	assert.match(killed.action ?? '', /^Reduce prompts_per_step.*checkpoint at step 10/);
	// As torchrun reports it: only the root cause counts, not how the other processes were terminated.
	const torchrun = (exitcode: string) => `[rank1]: ValueError: rank 1 is odd
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
Failures:
[1]:
  exitcode  : -15 (pid: 6)  (SIGTERM)
Root Cause (first observed failure):
[0]:
  exitcode  : ${exitcode} (pid: 7)`;
	assert.match(explainEnd({ code: 1, signal: null, words: torchrun('-9') }, at).message, /SIGKILL/);
	assert.match(
		explainEnd({ code: 1, signal: null, words: torchrun('1') }, at).message,
		/status 1, after step 12: ValueError: rank 1 is odd/,
	);
	assert.equal(explainEnd({ code: null, signal: 'SIGSEGV', words: '' }, at).reason, 'internal');
	const traceback = `Traceback (most recent call last):
  File "x.py", line 1, in <module>
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB
[rank0]: and more`;
	assert.match(
		explainEnd({ code: 1, signal: null, words: traceback }, at).message,
		/status 1, after step 12: torch\.OutOfMemoryError: CUDA out of memory/,
	);
	const refused = explainEnd(
		{
			code: 2,
			signal: null,
			words: 'Python at /x is missing packages required for training: No module named torch.\nRun Set Up.\n',
		},
		{ step: null, checkpoint: null, outOfMemory: null },
	);
	assert.deepEqual(
		[refused.message, refused.action],
		['Python at /x is missing packages required for training: No module named torch.', 'Run Set Up.'],
	);
	assert.equal(lastError(''), '');
});

it('a trainer runs without telemetry or stray Python settings, and has network access only if a hub id is used', () => {
	const recipe = {
		workers: 6,
		pytorch: { processes: 4 },
		dataset: { path: '/data/a.jsonl', heldOut: null },
		model: { path: '/models/a' },
		stages: [{ type: 'dpo', pairs: { path: '/data/pairs.jsonl' } }],
	} as never;
	const environment = { PATH: '/bin', PYTHONHOME: '/elsewhere', NODE_OPTIONS: '--inspect', OMP_NUM_THREADS: '64' };
	const options = { folder: '/trainer', socket: '/s', token: 't', environment };
	const local = trainerEnvironment({ ...options, recipe });
	assert.equal(local.PYTHONHOME, undefined);
	assert.equal(local.NODE_OPTIONS, undefined);
	assert.equal(local.PATH, '/bin');
	assert.equal(local.PYTHONPATH, '/trainer');
	assert.equal(local.HF_HUB_DISABLE_TELEMETRY, '1');
	assert.equal(local.HF_HUB_OFFLINE, '1');
	assert.equal(local.OMP_NUM_THREADS, '1');
	assert.equal(local.MALLOC_TRIM_THRESHOLD_, String(2 ** 30));
	const own = { ...environment, MALLOC_TRIM_THRESHOLD_: '4096' };
	assert.equal(trainerEnvironment({ ...options, environment: own, recipe }).MALLOC_TRIM_THRESHOLD_, '4096');
	const hub = { ...(recipe as object), stages: [{ type: 'dpo', pairs: { path: 'trl-lib/pairs' } }] } as never;
	assert.equal(namesHub(recipe), false);
	assert.equal(namesHub(hub), true);
	assert.equal(trainerEnvironment({ ...options, recipe: hub }).HF_HUB_OFFLINE, undefined);
});

it("the driver's own arguments are separated from those that every engine accepts", () => {
	assert.deepEqual(takeDriverArguments(['--run', 'r', '--join', '--resume', '--requests', 'q'], '/w'), {
		options: { join: true, requests: '/w/q' },
		rest: ['--run', 'r', '--resume'],
	});
	assert.throws(() => takeDriverArguments(['--requests', 'q'], '/w'), { reason: 'invalid' });
	assert.throws(() => takeDriverArguments(['--join', '--requests'], '/w'), { reason: 'invalid' });
});
