import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { advantageSettings } from '../../../../src/core/grpo/advantages/advantageSettings.ts';
import type { ScaleRewards } from '../../../../src/core/grpo/advantages/groupAdvantages.ts';
import { compareRows, meanRanks, type RowToCompare, rankCorrelation } from '../../../../src/core/reward/comparison.ts';

function row(group: number, before: number | null, after: number | null, step = 1, index = 0): RowToCompare {
	return { step, group, index, prompt: '', completion: '', answer: null, truncated: false, before, after };
}

const by = (scale: ScaleRewards) => advantageSettings({ scale_rewards: scale });

const close = (actual: number | null | undefined, expected: number, message?: string) =>
	assert.ok(
		actual !== null && actual !== undefined && Math.abs(actual - expected) < 1e-9,
		message ?? `${actual} ${expected}`,
	);

describe('rank correlation', () => {
	test('ranks start at 1, with ties at their mean rank', () => {
		assert.deepEqual(meanRanks([10, 20, 20, 5]), [2, 3.5, 3.5, 1]);
		assert.deepEqual(meanRanks([1, 1, 1]), [2, 2, 2]);
		assert.deepEqual(meanRanks([]), []);
	});

	test("is Spearman's, checked by hand", () => {
		// Ranks 1 2 3 4 5 and 2 1 3 5 4 without ties: 1 - 6 d^2 / (n (n^2 - 1)).
		close(
			rankCorrelation(
				[1, 2, 3, 4, 5],
				[2, 1, 3, 6, 4].map((v) => v * v),
			),
			1 - (6 * (1 + 1 + 0 + 1 + 1)) / 120,
		);
		close(rankCorrelation([1, 2, 3], [10, 20, 1000]), 1);
		close(rankCorrelation([1, 2, 3], [3, 2, 1]), -1);
		// Ranks 1.5 1.5 3 4 and 1 2 3 4: covariance 4.5, standard deviations sqrt(4.5) and sqrt(5).
		close(rankCorrelation([0, 0, 1, 2], [1, 2, 3, 4]), 4.5 / Math.sqrt(4.5 * 5));
	});

	test('uses rows where both sides have a value, and is null without variation', () => {
		close(rankCorrelation([1, null, 2, 3], [1, 9, 2, 3]), 1);
		assert.equal(rankCorrelation([1, 2], [2, 5]), 1);
		assert.equal(rankCorrelation([1, 2], [5, 2]), -1);
		assert.equal(rankCorrelation([1, 2], [5, 5]), null);
		assert.equal(rankCorrelation([1, null], [5, 6]), null);
		assert.equal(rankCorrelation([1, 1, 1], [1, 2, 3]), null);
		assert.equal(rankCorrelation([], []), null);
	});

	test('agrees with Pearson on ranks', () => {
		const random = Random.of('ranks');
		for (let round = 0; round < 200; round++) {
			const n = 3 + random.int(8);
			const draw = () => Array.from({ length: n }, () => random.int(4));
			const [a, b] = [draw(), draw()];
			const counted = (values: number[]) =>
				values.map(
					(value) =>
						values.filter((other) => other < value).length + (1 + values.filter((other) => other === value).length) / 2,
				);
			const [x, y] = [counted(a), counted(b)];
			const mean = (n + 1) / 2;
			const sum = (f: (i: number) => number) => x.reduce((total, _, i) => total + f(i), 0);
			const xx = sum((i) => ((x[i] as number) - mean) ** 2);
			const yy = sum((i) => ((y[i] as number) - mean) ** 2);
			const xy = sum((i) => ((x[i] as number) - mean) * ((y[i] as number) - mean));
			const found = rankCorrelation(a, b);
			if (xx === 0 || yy === 0) assert.equal(found, null);
			else close(found, xy / Math.sqrt(xx * yy));
		}
	});
});

describe('a comparison', () => {
	test('counts changes, flips, and groups that gain or lose variance', () => {
		const { summary, groups, steps } = compareRows(
			[
				row(0, 0, 0),
				row(0, 0, 1),
				row(1, 0, 0),
				row(1, 1, 0),
				row(2, 1, 1),
				row(2, 0, 0),
				row(3, 1, 1),
				row(3, 1, 1),
				row(4, 0.4, 0.45),
				row(4, 0.2, null),
			],
			by('group'),
		);
		assert.deepEqual(
			groups.map(({ variance }) => variance),
			['gained', 'lost', 'alive', 'dead', 'lost'],
		);
		assert.deepEqual(steps, [1]);
		assert.equal(summary.changed, 4);
		// Two values cross the midpoint between 0 and 1; 0.4 to 0.45 stays below it; 0.2 to null also counts as a flip.
		assert.equal(summary.flipped, 3);
		assert.equal(summary.gained, 1);
		assert.equal(summary.lost, 2);
		close(summary.meanBefore, 4.6 / 10);
		close(summary.meanAfter, 4.45 / 9);
		assert.equal(summary.rankCorrelation, 1);
		close(groups[0]?.stdAfter, Math.SQRT1_2);
		assert.equal(groups[0]?.stdBefore, 0);
	});

	test("computes GRPO's advantages before and after", () => {
		const { rows, summary } = compareRows([row(0, 1, 0), row(0, 0, 1), row(0, 0, 0)], by('group'));
		const std = Math.sqrt(1 / 3);
		close(rows[0]?.advantageBefore, 2 / 3 / (std + 1e-4));
		close(rows[0]?.advantageAfter, -1 / 3 / (std + 1e-4));
		close(rows[1]?.advantageAfter, 2 / 3 / (std + 1e-4));
		close(rows[2]?.advantageAfter, rows[2]?.advantageBefore as number);
		assert.equal(summary.advantageFlips, 2);
		const unscaled = compareRows([row(0, 1, 0), row(0, 0, 1)], by('none')).rows;
		close(unscaled[0]?.advantageBefore, 0.5);
	});

	test('supports groups of different sizes, and the standard deviation of each generation batch', () => {
		const random = Random.of('sizes');
		for (let round = 0; round < 50; round++) {
			const rows: RowToCompare[] = [];
			for (const step of [3, 4]) {
				for (let group = 0; group < 3; group++) {
					for (let index = 0; index < 1 + random.int(4); index++) {
						const draw = () => (random.int(5) === 0 ? null : random.int(6) / 2);
						rows.push(row(group, draw(), draw(), step, index));
					}
				}
			}
			const compared = compareRows(rows, by('batch'));
			for (const [i, { advantageBefore, step, group, before }] of compared.rows.entries()) {
				const valued = (list: RowToCompare[]) => list.map((one) => one.before).filter((value) => value !== null);
				const batch = valued(rows.filter((one) => one.step === step));
				const own = valued(rows.filter((one) => one.step === step && one.group === group));
				const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
				const std = Math.sqrt(
					batch.reduce((sum, value) => sum + (value - mean(batch)) ** 2, 0) / Math.max(1, batch.length - 1),
				);
				const dead = own.length < 2 || new Set(own).size === 1;
				const expected = before === null || dead ? 0 : (before - mean(own)) / (std + 1e-4);
				close(advantageBefore, expected, `round ${round}, row ${i}: ${advantageBefore} is not ${expected}`);
			}
		}
	});

	test('reports empty input and a reward compared with itself', () => {
		const nothing = compareRows([], by('group'));
		assert.deepEqual(nothing.summary, {
			meanBefore: null,
			meanAfter: null,
			flipped: 0,
			changed: 0,
			rankCorrelation: null,
			gained: 0,
			lost: 0,
			advantageFlips: 0,
		});
		const values = [0, 1, 0.5, null];
		const same = compareRows(
			values.map((value, i) => row(0, value, value, 1, i)),
			by('group'),
		).summary;
		assert.deepEqual([same.flipped, same.changed, same.gained, same.lost, same.advantageFlips], [0, 0, 0, 0, 0]);
		close(same.rankCorrelation, 1);
	});
});
