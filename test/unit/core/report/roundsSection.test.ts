import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EvaluatedSample, evaluationReport } from '../../../../src/core/evaluation/evaluationReport.ts';
import { type EvaluatedRound, roundSeries } from '../../../../src/core/pipeline/rounds.ts';
import { reportHtml } from '../../../../src/core/report/reportHtml.ts';
import { roundsSection } from '../../../../src/core/report/roundsSection.ts';

/**
 * Builds a report on 60 questions with two samples each. `one` questions have one correct sample and `two` have two.
 * The optional judge knows which samples are correct.
 */
function measured(one: number, two: number, judge: boolean): EvaluatedRound['report'] {
	const samples = Array.from({ length: 120 }, (_, i): EvaluatedSample => {
		const problem = Math.floor(i / 2);
		const correct = problem < two || (problem < two + one && i % 2 === 0);
		return {
			...{ problem, correct, answer: correct ? '1' : '2', tokens: 4, truncated: false, category: null },
			...(judge ? { score: correct ? 0.9 : 0.1 } : {}),
		};
	});
	return evaluationReport(samples);
}

const rounds: EvaluatedRound[] = [
	{ name: 'measure-2', round: { of: 'measure', number: 2 }, report: measured(6, 36, true) },
	{ name: 'before <b>', round: { of: 'measure', number: 0 }, report: measured(30, 0, true) },
	{ name: 'measure-1', round: { of: 'measure', number: 1 }, report: measured(24, 18, true) },
	{ name: 'other', report: measured(0, 60, true) },
];

test('the selection gain is what a judge adds to a single sample, with its confidence interval', () => {
	const [series, none] = roundSeries(rounds);
	assert.equal(none, undefined);
	assert.equal(series?.of, 'measure');
	const result = series?.points.map(({ number, accuracy, gain }) => [
		number,
		accuracy.accuracy,
		gain?.by,
		gain?.k,
		gain?.mean,
	]);
	// pass@1 is (one / 2 + two) / 60; the judge solves every question with a correct sample.
	assert.deepEqual(result, [
		[0, 0.25, 'judge', 2, 0.25],
		[1, 0.5, 'judge', 2, 0.2],
		[2, 0.65, 'judge', 2, 0.05],
	]);
	for (const { gain } of series?.points ?? []) assert.ok(gain && gain.low <= gain.mean && gain.mean <= gain.high);
	const [first, , last] = series?.points ?? [];
	assert.ok((last?.gain?.high ?? 1) < (first?.gain?.low ?? 0), 'sixty questions are enough to tell the gains apart');
});

test('without a judge, the majority selects; a single sample leaves nothing to select', () => {
	const { gain } = measured(30, 0, false);
	assert.equal(gain?.by, 'majority');
	assert.equal(gain?.mean, 0, 'when two answers differ, each is equally likely to be selected');
	const single = { problem: 0, correct: true, answer: '1', tokens: 1, truncated: false, category: null };
	assert.equal(evaluationReport([single]).gain, null);
});

test('a report plots accuracy and selection gain by round', () => {
	const section = roundsSection(rounds);
	assert.ok(section);
	const [, charts, table] = section.blocks;
	assert.equal(charts?.kind, 'charts');
	assert.deepEqual(charts?.kind === 'charts' && charts.charts.map(({ title, x }) => [title, x]), [
		['pass@1 of measure', 'round'],
		['Gain from best of 2 by the judge over pass@1', 'round'],
	]);
	const [accuracy] = charts?.kind === 'charts' ? charts.charts : [];
	const points = accuracy?.series[0]?.points ?? [];
	assert.deepEqual(
		points.map(({ x, y }) => [x, y]),
		[
			[0, 0.25],
			[1, 0.5],
			[2, 0.65],
		],
	);
	for (const { y, low = 1, high = 0 } of points) assert.ok(low < y && y < high);
	assert.deepEqual(table?.kind === 'table' && table.rows.map(([stage, round]) => [stage, round]), [
		['before <b>', '0'],
		['measure-1', '1'],
		['measure-2', '2'],
	]);
	const html = reportHtml({ title: 'x', subtitle: 'x', sections: [section] });
	assert.equal(html.match(/<svg class="chart"/g)?.length, 2);
	assert.ok(!html.includes('before <b>'), 'names are escaped');
});

test('a pipeline report without rounds has no rounds section', () => {
	assert.equal(roundsSection(rounds.slice(3)), null);
	assert.equal(roundsSection(rounds.slice(0, 1)), null, 'one round does not make a curve');
});
