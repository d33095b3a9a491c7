import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CompletionSums } from '../../../../src/core/report/completionSummary.ts';
import { pipelineReport, runReport } from '../../../../src/core/report/composeReport.ts';
import { isMainMetric, mainMetrics } from '../../../../src/core/report/mainMetrics.ts';
import { recipeChoices } from '../../../../src/core/report/recipeChoices.ts';
import type { ReportBlock, ReportSection, ReportTable } from '../../../../src/core/report/reportDocument.ts';
import { r1Tags } from '../../../../src/core/trace/trace.ts';
import { madeEvaluation, madeRun } from './madeReport.ts';

const now = 1_700_003_600;
const tables = ({ blocks, sections = [] }: ReportSection): ReportTable[] => [
	...blocks.filter((block): block is ReportTable => block.kind === 'table'),
	...sections.flatMap(tables),
];
const factsOf = (blocks: readonly ReportBlock[]) =>
	Object.fromEntries(blocks.flatMap((block) => (block.kind === 'facts' ? block.rows : [])));

describe('run report', () => {
	const report = runReport(madeRun(), now);

	it('has its sections in order', () => {
		assert.equal(report.subtitle, 'Training run report, generated 2023-11-14 23:13 UTC by Reasoning Lab.');
		assert.deepEqual(
			report.sections.map(({ title }) => title),
			[
				...['Overview', 'Stage: grpo', 'Evaluations', 'Rollouts', 'Searches', 'Diagnosis', 'Recipe'],
				...['Environment', 'Unreadable files'],
			],
		);
	});

	it('summarizes the run and its results', () => {
		const overview = report.sections[0] as ReportSection;
		const facts = factsOf(overview.blocks);
		assert.equal(facts['continued from'], 'cold-20260304-100000-cd34, step_000180');
		assert.equal(facts['held-out accuracy before'], '0.250 (0.150 to 0.400)');
		assert.equal(facts['held-out accuracy after'], '0.750 (0.630 to 0.840)');
		assert.equal(facts['last update'], '2023-11-14 22:14 UTC, after 1 min 05 s');
		const bought = tables(overview)[0] as ReportTable;
		assert.deepEqual(bought.rows, [
			['1. grpo', '0.250 (0.150 to 0.400)', '0.750 (0.630 to 0.840)', '0.500', '0.875', '12.5', '40', '0.250', '0.000'],
		]);
		assert.match(bought.note ?? '', /Measured on 1\. grpo: held-out samples at step 12\./);
	});

	it('compares evaluations on the same questions', () => {
		const evaluations = report.sections.find(({ title }) => title === 'Evaluations') as ReportSection;
		const [all, pairs] = tables(evaluations);
		assert.deepEqual(
			all?.rows.map((row) => row.slice(0, 5).map((cell) => cell.split(' (')[0])),
			[
				['first', 'tiny, step 12', '12', '4', '0.250'],
				['second', 'tiny, step 12', '12', '4', '0.750'],
			],
		);
		const [row] = pairs?.rows ?? [];
		assert.deepEqual([row?.[0], row?.[1], row?.[3], row?.[4]], ['second vs. first', '12', '6', '0']);
		assert.match(row?.[2] ?? '', /^\+0\.500 \(0\.\d+ to 0\.\d+\)$/);
		const other = { ...madeEvaluation('third', 9), problems: { name: 'other', hash: 'other' } };
		const apart = runReport(madeRun({ evaluations: [madeEvaluation('first', 3), other] }), now);
		const section = apart.sections.find(({ title }) => title === 'Evaluations') as ReportSection;
		assert.ok(!tables(section).some(({ caption }) => caption === 'Paired comparison by question'));
	});

	it('shows published benchmark results next to the measured one, each with its source', () => {
		const measured = { ...madeEvaluation('aime', 6), benchmark: 'aime' as const };
		const aime = runReport(madeRun({ evaluations: [measured] }), now);
		const section = aime.sections.find(({ title }) => title === 'Evaluations')?.sections?.[0] as ReportSection;
		const rows = tables(section).find(({ caption }) => caption === 'Comparison with published results')?.rows ?? [];
		assert.equal(rows.length, 2 + 28);
		assert.deepEqual(
			rows.filter(([model]) => model === 'tiny, step 12').map((row) => [row[1], row[3]]),
			[
				['pass@1', 'measured locally'],
				['cons@4', 'measured locally'],
			],
		);
		assert.ok(
			rows.slice(2).every((row) => row[3]?.startsWith('DeepSeek-R1 (Guo et al. 2025, arXiv:2501.12948v1), table ')),
		);
	});

	it('omits what a run does not have', () => {
		const bare = runReport(
			madeRun({
				stages: [],
				evaluations: [],
				rollouts: [],
				searches: [],
				diagnosis: { kind: 'clear', summary: 'No issues detected.', alerts: [] },
				recipe: undefined,
				gaps: [],
			}),
			now,
		);
		assert.deepEqual(
			bare.sections.map(({ title }) => title),
			['Overview', 'Diagnosis', 'Environment'],
		);
	});

	it('truncates long texts with a note', () => {
		const [rollout] = madeRun().rollouts;
		const long = runReport(
			madeRun({ rollouts: [{ ...(rollout as NonNullable<typeof rollout>), think: 'x'.repeat(10_000) }] }),
			now,
		);
		const section = long.sections.find(({ title }) => title === 'Rollouts')?.sections?.[0] as ReportSection;
		const think = section.blocks.find((block) => block.kind === 'text' && block.title === 'Thinking');
		assert.ok(think?.kind === 'text' && think.text.length === 8000);
		assert.equal(think.note, 'First 8,000 of 10,000 characters.');
	});
});

describe('pipeline report', () => {
	const stage = {
		detail: null,
		after: [],
		accuracy: 0.5,
		seconds: 65,
		outputs: ['last-checkpoint'],
		run: null,
		evaluation: null,
	};
	const report = pipelineReport(
		{
			...{ title: 'r1', id: 'r1-1', status: 'failed', error: 'distill failed', created: 0, updated: 60, gaps: [] },
			recipe: { name: 'r1' },
			stages: [
				{ ...stage, name: 'cold', type: 'sft', status: 'finished', run: madeRun({ title: 'cold' }) },
				{
					...{ ...stage, name: 'rl', type: 'grpo', status: 'finished', after: ['cold'] },
					run: madeRun({ title: 'rl', evaluations: [] }),
				},
				{ ...stage, name: 'test', type: 'evaluate', status: 'finished', evaluation: madeEvaluation('x', 12) },
				{
					...stage,
					name: 'distill',
					type: 'distill',
					status: 'failed',
					detail: 'no data',
					accuracy: null,
					seconds: null,
					outputs: [],
				},
			],
		},
		1_700_003_600,
	);

	it('shows stages in order, their gains, pairwise evaluations, and then each run', () => {
		assert.deepEqual(
			report.sections.map(({ title }) => title),
			['Overview', 'Gain by stage', 'Evaluations', 'cold', 'rl', 'Pipeline recipe'],
		);
		const [overview, , compared] = report.sections as [ReportSection, ReportSection, ReportSection];
		const [stages, bought] = tables(overview);
		assert.deepEqual(
			stages?.rows.map((row) => row.slice(0, 6)),
			[
				['cold', 'sft', 'finished', '–', '0.500', '1 min 05 s'],
				['rl', 'grpo', 'finished', 'cold', '0.500', '1 min 05 s'],
				['test', 'evaluate', 'finished', '–', '0.500', '1 min 05 s'],
				['distill', 'distill', 'failed: no data', '–', '–', '–'],
			],
		);
		assert.deepEqual(
			bought?.rows.map(([title]) => title),
			['cold', 'rl'],
		);
		assert.deepEqual(
			tables(compared)[1]?.rows.map(([title]) => title),
			['cold: second vs. cold: first', 'test vs. cold: first', 'test vs. cold: second'],
		);
		assert.deepEqual(
			compared.sections?.map(({ title }) => title),
			['test'],
		);
		assert.ok(report.sections[3]?.sections?.some(({ title }) => title === 'Stage: grpo'));
	});
});

describe('report inputs', () => {
	it('orders curves, with reward components next to the total reward', () => {
		assert.deepEqual(mainMetrics(['loss', 'rewards/a/mean', 'reward', 'rewards/b/mean']), [
			...['reward', 'rewards/a/mean', 'rewards/b/mean', 'loss'],
		]);
		assert.deepEqual(mainMetrics(['loss', 'rewards/a/mean', 'reward']), ['reward', 'loss']);
		assert.equal(isMainMetric('step_time'), false);
	});

	it('distinguishes explicit values from defaults', () => {
		const recipe = {
			name: 'x',
			whenBusy: 'queue',
			stages: [
				{ type: 'grpo', steps: 3, num_generations: 4, epsilon: 0.1, epsilon_high: 0.1, beta: 0, until: null },
				{ type: 'sft', steps: 2, batch_size: 64, until: { metric: 'accuracy', every: 5, problems: 256 } },
				{ type: 'unknown', steps: 2, adam_beta2: 0.98 },
			],
			evaluate: { every: 20, problems: 32 },
		};
		assert.deepEqual(
			recipeChoices(recipe).map(({ key, value, preset }) => [key, value, preset]),
			[
				['stages[0].num_generations', '4', '8'],
				['stages[0].epsilon', '0.1', '0.2'],
				['stages[1].until.every', '5', '20'],
				['stages[2].adam_beta2', '0.98', '0.999'],
				['evaluate.problems', '32', '256'],
			],
		);
		assert.deepEqual(recipeChoices(null), []);
		assert.deepEqual(recipeChoices('x'), []);
	});

	it('summarizes the format, length and language of completions', () => {
		const sums = new CompletionSums(r1Tags, null);
		assert.equal(sums.summary(), null);
		sums.add({ completion: '<think>Wait, this is wrong</think><answer>1</answer>', tokens: 10, truncated: false });
		sums.add({ completion: '<think>das слово ist', tokens: null, truncated: true });
		const summary = sums.summary();
		assert.equal(summary?.completions, 2);
		assert.equal(summary?.format, 0.5);
		assert.equal(summary?.truncated, 0.5);
		assert.equal(summary?.tokens, 10);
		assert.equal(summary?.reflection, 0.5);
		// All of the first thinking section is in one language, and six of the eleven letters in the second one.
		assert.ok(Math.abs((summary?.consistency ?? 0) - (1 + 6 / 11) / 2) < 1e-9, String(summary?.consistency));
		const english = new CompletionSums(r1Tags, 'en');
		english.add({ completion: '<think>two words слово</think><answer>1</answer>', tokens: 1, truncated: false });
		assert.ok(Math.abs((english.summary()?.consistency ?? 0) - 2 / 3) < 1e-9);
	});
});
