import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { Random } from '../../../../../src/base/random.ts';
import { planComparison } from '../../../../../src/core/search/comparison/comparisonPlan.ts';
import { ComparisonTable } from '../../../../../src/core/search/comparison/comparisonTable.ts';
import { difficultyBands } from '../../../../../src/core/search/comparison/difficultyBands.ts';
import { summarizeComparison } from '../../../../../src/core/search/comparison/summarizeComparison.ts';
import {
	type ComparisonResult,
	type ComparisonSpecInput,
	comparisonSpecSchema,
	comparisonSummarySchema,
} from '../../../../../src/protocol/strategyComparison.ts';

const specOf = (more: Partial<ComparisonSpecInput> = {}) =>
	v.parse(comparisonSpecSchema, {
		policy: { kind: 'scripted', file: 'policy.jsonl' },
		problems: { from: 'file', path: 'problems.jsonl' },
		samples: 4,
		strategies: [
			{ strategy: 'self-consistency', points: [{ params: { n: 2 } }, { params: { n: 4 } }] },
			{ strategy: 'best-of-n', judge: { use: 'value' }, params: { n: 4 }, points: [{ budget: { tokens: 100 } }] },
			{ strategy: 'best-of-n', judge: { use: 'reward', reward: 'accuracy', gold: true }, params: { n: 8 } },
		],
		...more,
	});

const searched = (point: string, problem: number, correct: 0 | 1 | null, more: Partial<ComparisonResult> = {}) =>
	({
		point,
		problem,
		correct,
		answer: null,
		any: correct,
		stop: 'complete',
		tokens: 10,
		nodes: 3,
		seconds: 1,
		cost: null,
		...more,
	}) as ComparisonResult;

/** Builds samples for a problem: correct ones have class 0, and each incorrect one has its own class. */
const sampled = (point: string, problem: number, rights: readonly (0 | 1)[]) =>
	searched(point, problem, null, {
		samples: rights.map((correct, i) => ({
			correct,
			class: correct === 1 ? 0 : i + 1,
			final: true,
			tokens: 5,
			scores: [correct],
		})),
	});

describe('comparison plan', () => {
	test('shares samples between strategies whose selection depends only on the samples', () => {
		const plan = planComparison(specOf());
		assert.deepEqual(
			plan.points.map(({ id, name, label, oracle, shared }) => [id, name, label, oracle, shared?.how ?? null]),
			[
				['s0p0', 'self-consistency', 'n=2', false, 'majority'],
				['s0p1', 'self-consistency', 'n=4', false, 'majority'],
				['s1p0', 'best-of-n by value', 'n=4 tokens<=100', false, null],
				['s2p0', 'best-of-n by accuracy (gold)', 'n=8', true, 'best'],
			],
		);
		assert.equal(plan.samples, 8, 'as many as the largest strategy needs');
		assert.equal(plan.sampleScorers.length, 1);
		const otherwise = planComparison(
			specOf({
				strategies: [
					{ strategy: 'self-consistency', params: { n: 2, temperature: 0.5 } },
					{ strategy: 'self-consistency', params: { n: 2, temperature: 1 } },
					{ strategy: 'best-of-n', judge: { use: 'majority' }, params: { n: 2 } },
				],
			}),
		);
		assert.deepEqual(
			otherwise.points.map(({ shared }) => shared !== null),
			[false, true, false],
		);
		assert.deepEqual(
			otherwise.points.slice(0, 2).map(({ name }) => name),
			['self-consistency (1)', 'self-consistency (2)'],
		);
	});

	test('reports the point with invalid parameters', () => {
		const strategies = [{ strategy: 'self-consistency', points: [{ params: { n: 2 } }, { params: { n: 0 } }] }];
		assert.throws(() => planComparison(specOf({ strategies })), /Strategy 1, configuration 2: .*n must be at least 1/);
		assert.throws(() => planComparison(specOf({ strategies: [{ strategy: 'none' }] })), /Unknown strategy "none"/);
	});
});

describe('result summary', () => {
	test('uses paired gains and labels oracles', () => {
		const spec = specOf();
		const plan = planComparison(spec);
		const table = new ComparisonTable(40);
		// Every second problem has 2 correct samples out of 4, so the majority wins when incorrect answers differ; the
		// others have none.
		for (let i = 0; i < 40; i++) {
			table.add(sampled('samples', i, i % 2 === 0 ? [1, 1, 0, 0] : [0, 0, 0, 0]));
			table.add(sampled('bands', i, i % 2 === 0 ? [1, 0] : [0, 0]));
			table.add(searched('s1p0', i, i % 4 === 0 ? 1 : 0, { any: i % 2 === 0 ? 1 : 0 }));
		}
		const summary = summarizeComparison(spec, plan, table);
		v.parse(v.pick(comparisonSummarySchema, ['bands', 'points', 'curves']), summary);
		const [single, two, four, searchedPoint, oracle] = summary.points;
		assert.equal(single?.accuracy?.mean, 0.25);
		assert.equal(single?.gain, null);
		assert.equal(single?.tokens, 5);
		// With two samples: both correct has probability 1/6; one of each is a tie, which counts half: 4/6 / 2.
		assert.ok(Math.abs((two?.accuracy?.mean ?? 0) - 0.25) < 0.03);
		assert.equal(four?.accuracy?.mean, 0.5);
		assert.equal(four?.gain?.mean, 0.25);
		assert.ok((four?.gain?.low ?? 0) > 0.1 && (four?.gain?.high ?? 1) < 0.4);
		assert.equal(four?.tokens, 20);
		assert.equal(searchedPoint?.accuracy?.mean, 0.25);
		assert.equal(searchedPoint?.any, 0.5);
		assert.equal(searchedPoint?.gain?.mean, 0);
		assert.ok((searchedPoint?.gain?.low ?? 0) < 0 && (searchedPoint?.gain?.high ?? 0) > 0);
		assert.equal(searchedPoint?.trees, 's1p0');
		assert.equal(four?.trees, 'samples');
		assert.deepEqual([oracle?.oracle, oracle?.accuracy], [true, null], 'there are fewer than eight samples');
		assert.equal(summary.bands.length, 5);
		assert.deepEqual(
			four?.bands.map(({ accuracy }) => accuracy?.mean),
			[1, 1, 0.5, 0, 0],
		);
		const pass = summary.curves.find(({ measure, band }) => measure === 'pass' && band === null);
		assert.deepEqual(
			pass?.points.map(({ k, mean }) => [k, Math.round(mean * 1e6) / 1e6]),
			[
				[1, 0.25],
				[2, 0.416667],
				[4, 0.5],
			],
		);
		assert.equal(summary.curves.length, 2 * 6);
	});

	test('does not depend on the order of results; the later of two results counts, and failures do not', () => {
		const spec = specOf();
		const plan = planComparison(spec);
		const random = Random.of('order');
		const lines = Array.from({ length: 30 }, (_, i) => [
			sampled(
				'samples',
				i,
				[0, 1, 2, 3].map(() => random.int(2) as 0 | 1),
			),
			searched('s1p0', i, random.int(2) as 0 | 1),
		]).flat();
		const summaryOf = (results: readonly ComparisonResult[]) => {
			const table = new ComparisonTable(30);
			for (const one of results) table.add(one);
			return summarizeComparison(spec, plan, table);
		};
		assert.deepEqual(summaryOf(random.shuffle([...lines])), summaryOf(lines));
		const first = lines[1] as ComparisonResult;
		const failed = { ...first, correct: 0, failed: 'gone' } as const;
		assert.deepEqual(summaryOf([failed, ...lines]), summaryOf(lines));
		const changed = summaryOf([...lines, { ...first, correct: first.correct === 1 ? 0 : 1 }]);
		assert.notDeepEqual(changed, summaryOf(lines));
		assert.equal(summaryOf([failed]).points[3]?.failed, 1);
		assert.equal(summaryOf([failed]).points[3]?.accuracy, null);
		assert.deepEqual(summaryOf([searched('s1p0', 99, 1)]), summaryOf([]), 'there is no such problem');
	});

	test('excludes problems without a gold answer everywhere', () => {
		const spec = specOf();
		const table = new ComparisonTable(2);
		table.add(searched('s1p0', 0, null));
		table.add(searched('s1p0', 1, 1));
		const point = summarizeComparison(spec, planComparison(spec), table).points[3];
		assert.deepEqual([point?.problems, point?.unjudged, point?.accuracy?.mean], [1, 1, 1]);
	});
});

test('difficulty bands have equal size, easiest first, for any number of problems', () => {
	const random = Random.of('bands');
	for (const n of [1, 4, 5, 7, 100]) {
		const rates = Array.from({ length: n }, () => (random.int(10) === 0 ? null : random.int(9) / 8));
		const bands = difficultyBands(rates, 5);
		const members = bands.flatMap(({ problems }) => problems);
		assert.deepEqual(
			members.toSorted((a, b) => a - b),
			rates.flatMap((rate, i) => (rate === null ? [] : [i])),
		);
		const sizes = bands.map(({ problems }) => problems.length);
		assert.ok(sizes.length === 0 || Math.max(...sizes) - Math.min(...sizes) <= 1, `${sizes}`);
		for (const [i, band] of bands.entries()) {
			assert.ok(band.low <= band.mean && band.mean <= band.high);
			assert.ok(i === 0 || band.high <= (bands[i - 1]?.low ?? 0));
		}
	}
	assert.deepEqual(difficultyBands([], 5), []);
});
