import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import * as v from 'valibot';
import type { Failure } from '../../../../src/base/failure.ts';
import {
	type ComparisonSpecInput,
	type ComparisonSummary,
	comparisonSpecSchema,
	comparisonSummarySchema,
} from '../../../../src/protocol/strategyComparison.ts';
import { comparisonResults } from '../../../../src/runs/comparisonFolder.ts';
import type { CompareOptions } from '../../../../src/search/compare/comparedSearches.ts';
import { compareStrategies } from '../../../../src/search/compare/compareStrategies.ts';
import { PolicyPool } from '../../../../src/search/policyPool.ts';
import { readTreeLog } from '../../../../src/search/treeLogFile.ts';

const root = await mkdtemp(join(tmpdir(), 'compare-'));
const pool = new PolicyPool(0);
after(async () => {
	pool.dispose();
	await rm(root, { recursive: true, force: true });
});
const context = { pool, policies: { engine: '', client: 'test', folder: root } };

const problems = 16;
/**
 * Two types of problems: easy ones are answered correctly more often than with any single wrong answer, hard ones
 * rarely.
 */
const say = (right: number) => [
	{ text: '<think>right</think><answer>$1</answer>', weight: right },
	{ text: '<think>a slip</think><answer>100</answer>', weight: (10 - right) / 2 },
	{ text: '<think>a guess</think><answer>200</answer>', weight: (10 - right) / 2 },
];
await writeFile(
	join(root, 'policy.jsonl'),
	[
		{ prompt: 'easy *', say: say(6) },
		{ prompt: 'hard *', say: say(2) },
	]
		.map((rule) => JSON.stringify(rule))
		.join('\n'),
);
await writeFile(
	join(root, 'broken.jsonl'),
	JSON.stringify({ prompt: '*', fail: { reason: 'unavailable', message: 'The model is gone.' } }),
);
await writeFile(
	join(root, 'problems.jsonl'),
	Array.from({ length: problems }, (_, i) =>
		JSON.stringify({ prompt: `${i % 2 === 0 ? 'easy' : 'hard'} ${i}`, answer: i }),
	).join('\n'),
);

const specOf = (more: Partial<ComparisonSpecInput> = {}) =>
	v.parse(comparisonSpecSchema, {
		policy: { kind: 'scripted', file: 'policy.jsonl' },
		problems: { from: 'file', path: 'problems.jsonl' },
		samples: 8,
		bandSamples: 4,
		bands: 2,
		strategies: [
			{ strategy: 'self-consistency', points: [{ params: { n: 4 } }, { params: { n: 8 } }] },
			{ strategy: 'self-consistency', points: [{ params: { n: 8 }, budget: { nodes: 5 } }] },
			{ strategy: 'best-of-n', judge: { use: 'reward', reward: 'accuracy', gold: true }, params: { n: 8 } },
		],
		...more,
	});

const compare = (folder: string, more: Partial<CompareOptions> = {}) =>
	compareStrategies({ spec: specOf(), folder: join(root, folder), context, ...more });

/** Selects the results that do not depend on timing. */
const numbers = ({ points, bands, curves, problems }: ComparisonSummary) => ({
	bands,
	curves,
	problems,
	points: points.map(({ seconds: _, ...point }) => point),
});

const readSummary = async (folder: string) =>
	v.parse(comparisonSummarySchema, JSON.parse(await readFile(join(root, folder, 'summary.json'), 'utf8')));

describe('strategy comparison', () => {
	test('the summary, its trees and its results agree', async () => {
		const summary = await compare('whole');
		assert.equal(summary.state, 'ended');
		assert.deepEqual(await readSummary('whole'), summary);
		const [single, four, eight, budgeted, oracle] = summary.points;
		assert.equal(summary.done, summary.total);
		assert.equal(summary.total, problems * 3, 'shared samples, bands, and one point with its own searches');
		// 6 in 10 and 2 in 10 are correct.
		assert.ok(Math.abs((single?.accuracy?.mean ?? 0) - 0.4) < 0.2, `${single?.accuracy?.mean}`);
		assert.ok((eight?.gain?.mean ?? 0) > 0);
		assert.ok((four?.tokens ?? 0) * 2 === eight?.tokens);
		assert.equal(budgeted?.nodes, 5);
		assert.deepEqual(budgeted?.stops, { nodes: problems });
		assert.equal(budgeted?.shared, false);
		assert.ok(oracle?.oracle && (oracle.accuracy?.mean ?? 0) === (oracle.any ?? 1));
		assert.equal(summary.bands.length, 2);
		assert.ok((summary.bands[0]?.mean ?? 0) > (summary.bands[1]?.mean ?? 1));
		assert.ok(
			(single?.bands[0]?.accuracy?.mean ?? 0) > (single?.bands[1]?.accuracy?.mean ?? 1) + 0.1,
			'bands from other samples also separate these samples',
		);

		assert.deepEqual((await readdir(join(root, 'whole', 'trees'))).sort(), ['bands', 's1p0', 'samples']);
		let compared = 0;
		for await (const result of comparisonResults(join(root, 'whole'))) {
			assert.ok(result !== null);
			const log = await readTreeLog(join(root, 'whole', 'trees', result.point, `${result.problem}.jsonl`));
			const end = log.events.at(-1);
			assert.ok(end?.t === 'end');
			assert.deepEqual(
				[end.answer, end.correct, end.tokens, log.tree.nodes.length - 1],
				[result.answer, result.correct === 1, result.tokens, result.nodes],
			);
			assert.equal(result.correct === 1, result.answer === String(result.problem));
			assert.equal(
				result.samples?.length ?? null,
				result.point === 'samples' ? 8 : result.point === 'bands' ? 4 : null,
			);
			compared++;
		}
		assert.equal(compared, summary.total);
	});

	test('the same specification gives the same numbers, however many searches run in parallel', async () => {
		const whole = await readSummary('whole');
		const again = await compare('again', { spec: specOf({ searches: 1, trees: false }) });
		const withoutTrees = ({ points, ...rest }: ReturnType<typeof numbers>) => ({
			...rest,
			points: points.map((point) => ({ ...point, trees: null })),
		});
		assert.deepEqual(withoutTrees(numbers(again)), withoutTrees(numbers(whole)));
		assert.ok(!(await readdir(join(root, 'again'))).includes('trees'));
		const other = await compare('other', { spec: specOf({ seed: 1, trees: false }) });
		assert.notDeepEqual(withoutTrees(numbers(other)), withoutTrees(numbers(whole)));
	});

	test('a stopped comparison continues where it left off, with the same numbers', async () => {
		const end = new AbortController();
		let heard = 0;
		const stopped = await compare('parts', {
			spec: specOf({ searches: 2 }),
			signal: end.signal,
			onProgress: () => {
				if (++heard === 12) end.abort();
			},
		});
		assert.equal(stopped.state, 'stopped');
		assert.ok(stopped.done >= 12 && stopped.done < stopped.total, `${stopped.done}`);
		// A crash leaves a partial last line.
		const results = join(root, 'parts', 'results.jsonl');
		const text = await readFile(results, 'utf8');
		await writeFile(results, text.slice(0, -30));
		const before = text.split('\n').length - 2;
		let more = 0;
		const whole = await compare('parts', { onProgress: () => more++ });
		assert.equal(whole.state, 'ended');
		assert.equal(more, whole.total - before, 'finished searches are not repeated');
		assert.deepEqual(numbers(whole), numbers(await readSummary('whole')));
		const nothing = await compare('parts', { onProgress: () => assert.fail('a finished search is repeated') });
		assert.deepEqual(numbers(nothing), numbers(whole));
	});

	test('a folder can only contain one comparison', async () => {
		await assert.rejects(compare('whole', { spec: specOf({ samples: 9 }) }), /different specification/);
		await assert.rejects(
			compare('whole', { spec: specOf({ seed: 5 }) }),
			(error: Failure) => error.reason === 'mismatch',
		);
		const problems = join(root, 'again', 'problems.jsonl');
		await writeFile(problems, (await readFile(problems, 'utf8')).replace('"prompt":"easy 0"', '"prompt":"easy 7"'));
		await assert.rejects(
			compare('again', { spec: specOf({ trees: false }) }),
			/has changed since the comparison started/,
		);
	});

	test('an unavailable policy ends the comparison, and failed searches are retried later', async () => {
		const spec = specOf({ policy: { kind: 'scripted', file: 'broken.jsonl' }, searches: 4 });
		await assert.rejects(
			compare('broken', { spec }),
			/searches in a row failed because the policy failed: .*The model is gone/,
		);
		const summary = await readSummary('broken');
		assert.equal(summary.state, 'failed');
		assert.match(summary.message ?? '', /run the comparison again/);
		assert.equal(summary.points[0]?.accuracy, null);
		assert.ok((summary.points[0]?.failed ?? 0) > 0);
		await writeFile(join(root, 'broken.jsonl'), await readFile(join(root, 'policy.jsonl'), 'utf8'));
		const mended = await compare('broken', { spec });
		assert.equal(mended.state, 'ended');
		assert.deepEqual(
			mended.points.map(({ failed }) => failed),
			[0, 0, 0, 0, 0],
		);
		assert.deepEqual(numbers(mended), numbers(await readSummary('whole')));
	});

	test('a small comparison whose problems all fail is not a success, and the reason includes the count', async () => {
		await writeFile(
			join(root, 'gone.jsonl'),
			JSON.stringify({ prompt: '*', fail: { reason: 'unavailable', message: 'The model is gone.' } }),
		);
		const spec = specOf({
			policy: { kind: 'scripted', file: 'gone.jsonl' },
			problems: { from: 'file', path: 'problems.jsonl', limit: 2 },
		});
		await assert.rejects(compare('gone', { spec }), /^All 6 searches failed: .*The model is gone/);
		const { state, message, failed, failures, done } = await readSummary('gone');
		assert.deepEqual([state, failed, done], ['failed', 6, 6]);
		assert.match(message ?? '', /^All 6 searches failed/);
		assert.deepEqual(
			failures.map(({ count }) => count),
			[6],
		);
	});

	test('individual failures are counted by reason', async () => {
		const rules = [
			{ prompt: 'easy *', say: say(6) },
			{
				prompt: 'hard *',
				fail: { reason: 'invalid', message: 'The prompt has "h", which does not exist in the vocabulary.' },
			},
		];
		await writeFile(join(root, 'half.jsonl'), rules.map((rule) => JSON.stringify(rule)).join('\n'));
		const spec = specOf({ policy: { kind: 'scripted', file: 'half.jsonl' }, searches: 4, trees: false });
		const summary = await compare('half', { spec });
		assert.equal(summary.state, 'ended');
		assert.equal(summary.failed, (summary.total / problems) * 8);
		assert.equal(summary.failures.length, 1);
		assert.match(summary.failures[0]?.message ?? '', /does not exist in the vocabulary/);
	});

	test('a comparison that cannot run is rejected before anything is created', async () => {
		const refused: [Partial<ComparisonSpecInput>, RegExp][] = [
			[{ problems: { from: 'file', path: 'nothing.jsonl' } }, /nothing\.jsonl/],
			[{ strategies: [{ strategy: 'magic' }] }, /Unknown strategy "magic"/],
			[{ policy: { kind: 'scripted', file: 'nobody.jsonl' } }, /nobody\.jsonl/],
		];
		for (const [more, message] of refused) await assert.rejects(compare('refused', { spec: specOf(more) }), message);
		await assert.rejects(
			compare('needs', { spec: specOf({ strategies: [{ strategy: 'beam' }] }) }),
			/requires a guide that scores steps/,
		);
	});

	test('invalid problem lines are skipped and reported, and duplicate problems count once', async () => {
		const rows = [{ prompt: 'easy 1', answer: 1 }, { prompt: ' easy  1 ', answer: 1 }, { prompt: 'easy 2' }];
		await writeFile(
			join(root, 'rough.jsonl'),
			`${rows.map((row) => JSON.stringify(row)).join('\r\n')}\n\nnot json\n{"prompt":3}`,
		);
		const faults: number[] = [];
		const summary = await compare('rough', {
			spec: specOf({ problems: { from: 'file', path: 'rough.jsonl' } }),
			onFault: ({ line }) => faults.push(line),
		});
		assert.equal(summary.problems, 2);
		assert.deepEqual(faults, [5, 6]);
		assert.deepEqual([summary.points[0]?.problems, summary.points[0]?.unjudged], [1, 1]);
	});
});
