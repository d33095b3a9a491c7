import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import * as v from 'valibot';
import { parseTrace } from '../../../../src/core/trace/parseTrace.ts';
import {
	type DataSpecInput,
	dataSpecSchema,
	type SolutionLine,
	solutionLineSchema,
} from '../../../../src/protocol/dataSpec.ts';
import { type GenerateOptions, generateData } from '../../../../src/search/data/generateData.ts';
import { PolicyPool } from '../../../../src/search/policyPool.ts';
import { readTreeLog } from '../../../../src/search/treeLogFile.ts';

const root = await mkdtemp(join(tmpdir(), 'data-'));
const pool = new PolicyPool(0);
after(async () => {
	pool.dispose();
	await rm(root, { recursive: true, force: true });
});
const context = { pool, policies: { engine: '', client: 'test', folder: root } };

const problems = 20;
await writeFile(
	join(root, 'policy.jsonl'),
	JSON.stringify({
		prompt: 'problem *',
		say: [
			{ text: '<think>one\ntwo\n</think><answer>$1</answer>', weight: 4 },
			{ text: '<think>one\nthree\n</think><answer>$1</answer>', weight: 1 },
			{ text: '<think>other\nfour\n</think><answer>0</answer>', weight: 5 },
		],
	}),
);
await writeFile(join(root, 'broken.jsonl'), JSON.stringify({ fail: { message: 'The model is gone.' } }));
const rows = Array.from({ length: problems }, (_, i) => ({ prompt: `problem ${i + 1}`, answer: i + 1 }));
// Two rows occur twice.
await writeFile(
	join(root, 'problems.jsonl'),
	[...rows, rows[3], rows[7]].map((row) => `${JSON.stringify(row)}\n`).join(''),
);

const specOf = (more: Partial<DataSpecInput> = {}) =>
	v.parse(dataSpecSchema, {
		problems: { from: 'file', path: 'problems.jsonl' },
		search: { policy: { kind: 'scripted', file: 'policy.jsonl' }, strategy: 'self-consistency', params: { n: 12 } },
		...more,
	});

const generate = (folder: string, spec: Partial<DataSpecInput> = {}, more: Partial<GenerateOptions> = {}) =>
	generateData({ spec: specOf(spec), folder: join(root, folder), context, ...more });

const linesOf = async <T = Record<string, unknown>>(folder: string, name: string): Promise<T[]> =>
	(await readFile(join(root, folder, name), 'utf8'))
		.split('\n')
		.slice(0, -1)
		.map((line) => JSON.parse(line) as T);

const sorted = (lines: readonly unknown[]) => lines.map((line) => JSON.stringify(line)).sort();

describe('training data from searches', () => {
	test('contains correct solutions, without duplicate problems or texts', async () => {
		const made = await generate('plain', { trees: true });
		assert.equal(made.state, 'ended');
		assert.equal(made.problems, problems);
		const lines = (await linesOf<SolutionLine>('plain', 'solutions.jsonl')).map((line) =>
			v.parse(solutionLineSchema, line),
		);
		assert.equal(made.lines.solutions, lines.length);
		assert.equal(new Set(lines.map(({ key }) => key)).size, new Set(lines.map(({ prompt }) => prompt)).size);
		assert.equal(new Set(lines.map(({ key, solution }) => `${key} ${solution}`)).size, lines.length);
		for (const { prompt, answer, steps, solution, stated, reward, correct, strategy, tokens } of lines) {
			assert.equal(prompt, `problem ${answer}`);
			assert.equal(steps.join(''), solution);
			assert.deepEqual([stated, parseTrace(solution).answer], [answer, answer]);
			assert.deepEqual([reward, correct, strategy], [1, true, 'self-consistency']);
			assert.ok(tokens > 0);
		}
		const trees = await readdir(join(root, 'plain', 'trees'));
		assert.equal(trees.length, problems);
		const { tree } = await readTreeLog(join(root, 'plain', 'trees', trees[0] as string));
		assert.equal(tree.nodes.length, 13);
	});

	test('supports every export of a tree search', async () => {
		const exports = ['solutions', 'sft', 'journey', 'dpo', 'step-labels', 'math-shepherd', 'soft-labels'] as const;
		const made = await generate('exports', {
			search: {
				policy: { kind: 'scripted', file: 'policy.jsonl' },
				strategy: 'mcts',
				params: { simulations: 12, evaluation: 'rollout' },
				guide: { use: 'reward', reward: 'accuracy', gold: true },
			},
			exports: [...exports],
			labels: { completions: 6 },
		});
		for (const kind of exports) {
			const lines = await linesOf('exports', `${kind}.jsonl`);
			assert.ok(lines.length > 0, kind);
			assert.equal(made.lines[kind], lines.length, kind);
			assert.equal(new Set(lines.map((line) => JSON.stringify(line))).size, lines.length, kind);
		}
		const sft = await linesOf<{ prompt: string; completion: string }>('exports', 'sft.jsonl');
		for (const { prompt, completion } of sft) assert.equal(`problem ${parseTrace(completion).answer}`, prompt);
		const journeys = await linesOf<{ completion: string }>('exports', 'journey.jsonl');
		assert.ok(
			journeys.some(({ completion }) => completion.includes('Let me go back')),
			'journeys include dead ends',
		);
		const pairs = await linesOf<{ chosen: string; rejected: string }>('exports', 'dpo.jsonl');
		assert.ok(pairs.some(({ chosen, rejected }) => /one/.test(chosen) && /other/.test(rejected)));
		const soft = await linesOf<{ completions: string[]; labels: number[] }>('exports', 'soft-labels.jsonl');
		const labelsOf = (step: string) =>
			soft.flatMap(({ completions, labels }) => labels.filter((_, i) => completions[i]?.endsWith(step)));
		assert.ok(
			labelsOf('one').every((label) => label === 1),
			'every continuation is correct',
		);
		assert.ok(labelsOf('other').every((label) => label === 0));
		assert.ok(labelsOf('one').length > 0 && labelsOf('other').length > 0);
	});

	test('contains the solutions selected by the options', async () => {
		await generate('all', { keep: 'all', most: 3 });
		const all = await linesOf<SolutionLine>('all', 'solutions.jsonl');
		assert.ok(all.some(({ correct }) => correct === false));
		assert.equal(all[0]?.correct, true, 'the best solutions come first');
		await generate('best', { keep: 'best' });
		const best = await linesOf<SolutionLine>('best', 'solutions.jsonl');
		assert.equal(best.length, problems);
		await generate('chat', {
			exports: ['sft'],
			form: 'conversational',
			problems: { from: 'file', path: 'problems.jsonl', limit: 2 },
		});
		const [chat] = await linesOf<{ prompt: { role: string; content: string }[] }>('chat', 'sft.jsonl');
		assert.equal(chat?.prompt[0]?.role, 'user');
	});

	test('resumes after a stop, and redoes only what a crash damaged', async () => {
		const end = new AbortController();
		const stopped = await generate(
			'parts',
			{ exports: ['solutions', 'dpo'], searches: 2 },
			{ signal: end.signal, onProgress: ({ problems }) => problems >= 6 && end.abort() },
		);
		assert.equal(stopped.state, 'stopped');
		assert.ok(stopped.problems >= 6 && stopped.problems < problems, `${stopped.problems}`);
		const path = (name: string) => join(root, 'parts', name);
		// Lines not covered by the progress, and a partial progress line.
		await appendFile(path('solutions.jsonl'), `${JSON.stringify({ key: 'lost' })}\n{"key":"to`);
		await appendFile(path('progress.jsonl'), '{"done":[{"key":"torn"');
		const whole = await generate('parts', { exports: ['solutions', 'dpo'], searches: 16 });
		assert.deepEqual([whole.state, whole.problems, whole.before], ['ended', problems, stopped.problems]);
		const once = await generate('once', { exports: ['solutions', 'dpo'] });
		assert.deepEqual(whole.lines, once.lines);
		for (const name of ['solutions.jsonl', 'dpo.jsonl']) {
			assert.deepEqual(sorted(await linesOf('parts', name)), sorted(await linesOf('once', name)), name);
		}
		const nothing = await generate('once', { exports: ['solutions', 'dpo'] });
		assert.deepEqual([nothing.problems, nothing.before], [problems, problems]);
	});

	test('is not written to a folder with a different specification or damaged files', async () => {
		await assert.rejects(generate('plain', { trees: true, most: 2 }), /different specification/);
		const path = join(root, 'best', 'solutions.jsonl');
		await writeFile(path, (await readFile(path, 'utf8')).slice(0, 100));
		await assert.rejects(generate('best', { keep: 'best' }), /is 100 bytes/);
	});

	test('stops if the policy is unavailable, and retries failed problems later', async () => {
		const spec = {
			search: { policy: { kind: 'scripted', file: 'broken.jsonl' }, strategy: 'self-consistency' },
			searches: 4,
		} as const;
		await assert.rejects(
			generate('broken', spec),
			/searches in a row failed because the policy failed: .*The model is gone/,
		);
		await writeFile(join(root, 'broken.jsonl'), await readFile(join(root, 'policy.jsonl'), 'utf8'));
		const made = await generate('broken', spec);
		assert.deepEqual([made.problems, made.before, made.failed], [problems, 0, 0]);
	});

	test('is not a success if all of a few problems fail; individual failures are counted by reason', async () => {
		const fail = { reason: 'unavailable', message: 'The model is gone.' };
		await writeFile(join(root, 'gone.jsonl'), JSON.stringify({ prompt: '*', fail }));
		const search = { policy: { kind: 'scripted', file: 'gone.jsonl' }, strategy: 'self-consistency' } as const;
		await assert.rejects(
			generate('gone', { search, problems: { from: 'file', path: 'problems.jsonl', limit: 2 } }),
			/All 2 searches failed: .*The model is gone/,
		);
		const first = JSON.stringify({ prompt: rows[0]?.prompt, fail });
		await writeFile(join(root, 'most.jsonl'), `${first}\n${await readFile(join(root, 'policy.jsonl'), 'utf8')}`);
		const made = await generate('most', {
			search: { policy: { kind: 'scripted', file: 'most.jsonl' }, strategy: 'self-consistency' },
		});
		assert.deepEqual([made.state, made.failed, made.problems], ['ended', 1, problems - 1]);
		assert.match(made.failures[0]?.message ?? '', /The model is gone/);
	});

	test('contains the answers chosen by the search for problems without a gold answer', async () => {
		await writeFile(join(root, 'open.jsonl'), rows.map(({ prompt }) => `${JSON.stringify({ prompt })}\n`).join(''));
		await generate('open', { problems: { from: 'file', path: 'open.jsonl' } });
		const lines = await linesOf<SolutionLine>('open', 'solutions.jsonl');
		assert.equal(lines.length, problems);
		assert.ok(lines.every(({ correct, reward, answer }) => correct === null && reward === null && answer === null));
	});
});
