import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareStages, verdictOf } from '../../../../src/core/report/comparedStages.ts';
import { type CompletionMeasures, QuestionMeasures } from '../../../../src/core/report/completionMeasures.ts';
import { pipelineReport, pipelinesReport } from '../../../../src/core/report/composeReport.ts';
import type { ReportSection, ReportTable } from '../../../../src/core/report/reportDocument.ts';
import type { ReportedPipeline } from '../../../../src/core/report/reportedPipeline.ts';
import type { ReportedEvaluation } from '../../../../src/core/report/reportedRun.ts';
import { madeEvaluation } from './madeReport.ts';

const marks = { reflection: 0, verification: 0, backtracking: 0 };
const none: CompletionMeasures = { accuracy: 0, format: null, 'one-language': null, tokens: 1, ...marks };

/** Builds twenty questions, the first ten with numeric answers, with measurements for each. */
function evaluation(measure: (question: number) => Partial<CompletionMeasures>): ReportedEvaluation {
	const questions = new Map(
		Array.from({ length: 20 }, (_, i) => [
			`q${i}`,
			{ category: i < 10 ? 'numbers' : 'words', means: { ...none, ...measure(i) } },
		]),
	);
	return { ...madeEvaluation('x', 3), questions };
}

describe('comparison of two evaluations', () => {
	const low = evaluation((i) => ({ accuracy: i % 2, tokens: 10 + i }));
	const high = evaluation((i) => ({ accuracy: i < 10 ? 1 : i % 2, tokens: 20 + i }));

	it('averages paired differences over questions of one type', () => {
		const compared = compareStages(high, low, { category: 'numbers' });
		assert.ok('difference' in compared);
		assert.deepEqual([compared.questions, compared.stage, compared.against], [10, 1, 0.5]);
		assert.equal(compared.difference.mean, 0.5);
		assert.ok(compared.difference.low > 0 && compared.difference.high <= 0.9);
		const words = compareStages(high, low, { category: 'words' });
		// Ten equal outcomes do not prove that all are equal.
		assert.ok('difference' in words && words.difference.low < -0.1 && words.difference.high > 0.1);
		// The common offset is nearly certain because the questions are paired.
		const longer = compareStages(high, low, { measure: 'tokens' });
		assert.ok('difference' in longer);
		assert.deepEqual([longer.questions, longer.difference.mean], [20, 10]);
		assert.ok(longer.difference.low > 8 && longer.difference.high < 11);
		// The same holds for marker counts, which can differ by more than one per completion.
		const often = evaluation((i) => ({ backtracking: 2 + (i % 3) }));
		const marked = compareStages(often, low, { measure: 'backtracking' });
		assert.ok('difference' in marked && marked.difference.high > marked.difference.mean && marked.difference.low > 2);
	});

	it('requires common questions that have the measured value', () => {
		assert.deepEqual(compareStages(high, low, { measure: 'format' }), {
			reason: 'only 0 questions in common, too few to compare',
		});
		assert.ok('reason' in compareStages(high, { ...low, questions: new Map() }, {}));
	});

	it('uses the entire confidence interval for its verdict', () => {
		const difference = (mean: number, from: number, to: number) => ({
			mean,
			low: from,
			high: to,
			p: 0.5,
			resamples: 9,
		});
		const judged = (expect: Parameters<typeof verdictOf>[0], ...[mean, from, to]: [number, number, number]) => {
			const { holds, sign } = verdictOf(expect, difference(mean, from, to));
			return [holds, sign];
		};
		assert.deepEqual(judged('above', 0.2, 0.1, 0.3), [true, true]);
		assert.deepEqual(judged('above', 0.2, -0.1, 0.5), [false, true]);
		assert.deepEqual(judged('below', -0.2, -0.3, -0.1), [true, true]);
		assert.deepEqual(judged('below', 0.2, 0.1, 0.3), [false, false]);
		assert.deepEqual(judged('not-below', -0.1, -0.3, 0.1), [true, false]);
		assert.deepEqual(judged('not-below', -0.2, -0.3, -0.1), [false, false]);
	});
});

it('measures for a question are means over its samples, skipping samples without a value', () => {
	const sums = new QuestionMeasures('words');
	sums.add({ ...none, accuracy: 1, 'one-language': 0.5, tokens: 4 });
	sums.add({ ...none, tokens: 8 });
	assert.deepEqual(sums.question(), {
		category: 'words',
		means: { accuracy: 0.5, format: null, 'one-language': 0.5, tokens: 6, ...marks },
	});
});

describe('gain by stage', () => {
	const stage = { detail: null, accuracy: null, seconds: 60, outputs: [], run: null, status: 'finished' };
	const compare = [
		{ claim: 'RL helps', stage: 'of-rl', against: 'of-cold', category: 'numbers' },
		{ claim: 'and costs nothing', stage: 'of-rl', against: 'of-cold', category: 'words', expect: 'not-below' },
	];
	function pipeline(seed: number, gain: number): ReportedPipeline {
		const cold = evaluation((i) => ({ accuracy: i % 2 }));
		const better = evaluation((i) => ({ accuracy: i < 10 ? (i < gain ? 1 : i % 2) : i % 2 }));
		return {
			...{ title: 'r1', id: `r1-${seed}`, status: 'finished', error: null, created: 0, updated: 60, gaps: [] },
			recipe: { name: 'r1', seed, compare },
			stages: [
				{ ...stage, name: 'cold', type: 'sft', after: [], evaluation: null },
				{ ...stage, name: 'rl', type: 'grpo', after: ['cold'], seconds: 120, evaluation: null },
				{ ...stage, name: 'of-cold', type: 'evaluate', after: ['cold'], evaluation: cold },
				{ ...stage, name: 'of-rl', type: 'evaluate', after: ['rl'], evaluation: better },
			],
		};
	}
	const tablesOf = (sections: readonly ReportSection[]): ReportTable[] =>
		(sections.find(({ title }) => title === 'Gain by stage')?.blocks ?? []).filter(
			(block): block is ReportTable => block.kind === 'table',
		);

	it('is reported for one pipeline based on the comparisons in its recipe', () => {
		const [measured, claims] = tablesOf(pipelineReport(pipeline(1, 10), 0).sections);
		assert.deepEqual(
			measured?.rows.map((row) => [row[0], row.at(-1)]),
			[
				['cold', '1 min 00 s'],
				['rl', '2 min 00 s'],
			],
		);
		assert.deepEqual(
			claims?.rows.map(([claim, of, measure, , came]) => [claim, of, measure, came]),
			[
				['RL helps', 'of-rl against of-cold', 'accuracy, numbers, above', 'yes'],
				['and costs nothing', 'of-rl against of-cold', 'accuracy, words, not-below', 'yes'],
			],
		);
		assert.match(claims?.rows[0]?.[3] ?? '', /^0\.5 → 1: \+0\.500 \(0\.\d+ to 0\.\d+\)$/);
	});

	it('is reported for several pipelines, one per column, with the number of pipelines for which a claim holds', () => {
		const report = pipelinesReport([pipeline(1, 10), pipeline(2, 0), pipeline(3, 10)], 0);
		assert.deepEqual(
			report.sections.map(({ title }) => title),
			['Overview', 'Gain by stage', 'r1, seed 1', 'r1, seed 2', 'r1, seed 3', 'Recipe'],
		);
		const [, claims] = tablesOf(report.sections);
		assert.deepEqual(
			claims?.columns.map(({ title }) => title),
			['claim', 'stages', 'measure', 'seed 1', 'seed 2', 'seed 3', 'held'],
		);
		assert.deepEqual(
			claims?.rows.map((row) => row.at(-1)),
			['2 of 3 (same sign in 2)', '3 of 3 (same sign in 3)'],
		);
		const overview = report.sections[0] as ReportSection;
		assert.ok(!overview.blocks.some(({ kind }) => kind === 'paragraph'));
		const other = { ...pipeline(2, 0), recipe: { name: 'r1', seed: 2, compare: [] } };
		assert.ok(
			pipelinesReport([pipeline(1, 10), other], 0).sections[0]?.blocks.some(
				(block) => block.kind === 'paragraph' && block.text === 'The recipes differ in more than just the seed.',
			),
		);
	});

	it('is omitted if there are no evaluations to compare', () => {
		const bare = { ...pipeline(1, 0), stages: [], recipe: undefined };
		assert.ok(!pipelineReport(bare, 0).sections.some(({ title }) => title === 'Gain by stage'));
		assert.deepEqual(pipelinesReport([bare, bare], 0).sections[1]?.blocks, [
			{ kind: 'paragraph', text: 'No stage evaluates another stage, so there is nothing to compare.' },
		]);
	});
});
