import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { runEvaluation } from '../../../../src/extension/evaluation/evaluationProcess.ts';
import { builtProgram } from '../../../support/programs.ts';

const cli = builtProgram('dist/cli.js');

test('an evaluation in a separate process reports progress, can be stopped, and continues where it left off', async (context) => {
	const folder = await mkdtemp(join(tmpdir(), 'rl-evaluate-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const write = (name: string, lines: readonly unknown[]) =>
		writeFile(join(folder, name), lines.map((line) => JSON.stringify(line)).join('\n'));
	const count = 40;
	await write(
		'q.jsonl',
		Array.from({ length: count }, (_, i) => ({ prompt: `q${i} is what?`, answer: i })),
	);
	await write('pupil.json', [
		{
			name: 'pupil',
			rules: Array.from({ length: count }, (_, i) => ({
				prompt: `q${i} is what?`,
				delayMs: 40,
				say: [`<think>x</think><answer>${i % 2 === 0 ? i : -1}</answer>`],
			})),
		},
	]);
	const run = (signal: AbortSignal, onProgress: (done: number, total: number) => void, ...more: string[]) =>
		runEvaluation({
			...{ cli, node: null, cwd: folder, signal, onProgress },
			args: ['--policy', 'pupil.json', '--dataset', 'q.jsonl', '--out', 'kept', '--concurrency', '1', ...more],
		});
	const abort = new AbortController();
	const ended = run(abort.signal, (done) => {
		if (done > 0) abort.abort();
	});
	await assert.rejects(ended, (error) => error instanceof Failure && error.reason === 'cancelled');
	const linesOf = async () => (await readFile(join(folder, 'kept/samples.jsonl'), 'utf8')).trimEnd().split('\n');
	const kept = await linesOf();
	assert.ok(kept.length > 0 && kept.length < count, `${kept.length} questions`);

	const reported: number[] = [];
	const result = await run(new AbortController().signal, (done) => reported.push(done));
	// The number of progress reports depends on timing, but the first one must include the stored samples.
	assert.equal(reported[0], kept.length, `${reported}`);
	assert.equal(reported.at(-1), count);
	const lines = await linesOf();
	assert.deepEqual([lines.length, lines.slice(0, kept.length)], [count, kept]);
	assert.deepEqual([result.done, result.total, result.accuracy.accuracy], [count, count, 0.5]);
	assert.equal(result.folder, join(folder, 'kept'));

	// Problems without a completion are reported as failures; if all problems fail, the evaluation fails.
	const gone = (prompt: string) => ({ prompt, fail: { reason: 'unavailable', message: 'The model is gone.' } });
	const sure = { prompt: '*', say: ['<think>x</think><answer>1</answer>'] };
	await write('half.json', [{ name: 'half', rules: [gone('q3 *'), gone('q7 *'), sure] }]);
	await write('gone.json', [{ name: 'gone', rules: [gone('*')] }]);
	const asked = (policy: string, questions: string) =>
		runEvaluation({
			...{ cli, node: null, cwd: folder, signal: new AbortController().signal, onProgress: () => undefined },
			args: ['--policy', policy, '--dataset', questions, '--out', policy.slice(0, 4), '--concurrency', '1'],
		});
	const partial = await asked('half.json', 'q.jsonl');
	assert.deepEqual([partial.done, partial.total], [count - 2, count]);
	assert.deepEqual(
		partial.failures.map(({ message, count: times }) => [/The model is gone/.test(message), times]),
		[[true, 2]],
	);
	await write(
		'two.jsonl',
		[1, 2].map((i) => ({ prompt: `q${i} is what?`, answer: i })),
	);
	await assert.rejects(
		asked('gone.json', 'two.jsonl'),
		(error) =>
			error instanceof Failure && error.reason === 'unavailable' && /All 2 questions failed/.test(error.message),
	);

	await assert.rejects(
		run(new AbortController().signal, () => undefined, '--samples', '0'),
		(error) => error instanceof Failure && error.reason === 'invalid',
	);
});
