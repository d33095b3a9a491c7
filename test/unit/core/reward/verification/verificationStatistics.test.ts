import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { computeAdvantages, mean, sampleStd } from '../../../../../src/core/grpo/advantages/groupAdvantages.ts';
import { correlation } from '../../../../../src/core/reward/verification/correlation.ts';
import { groupSpreads } from '../../../../../src/core/reward/verification/groupSpread.ts';
import { moments } from '../../../../../src/core/reward/verification/moments.ts';
import { verificationStatistics } from '../../../../../src/core/reward/verification/verificationStatistics.ts';
import { decode } from '../../../../../src/protocol/decode.ts';
import { verificationStatisticsSchema } from '../../../../../src/protocol/verification.ts';
import { failed, verified } from './verifiedRows.ts';

const close = (actual: number | null, expected: number, tolerance = 1e-12) =>
	assert.ok(
		actual !== null && Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
		`${actual} is not ${expected}`,
	);

describe('verification statistics', () => {
	it('match hand-computed values', () => {
		// Two problems: the first agrees; the second scores an incorrect answer as high as the correct one.
		const rows = [
			verified(1, { source: 'gold', group: 0, others: { length: 2 } }),
			verified(0, { source: 'wrong', group: 0, others: { length: 4 } }),
			verified(null, { source: 'wrong', group: 0, others: { length: 3 } }),
			verified(0.5, { source: 'gold', group: 1, others: { length: 3 } }),
			verified(0.5, { source: 'wrong', group: 1, others: { length: null } }),
			verified(0, { source: 'case', expect: 0, passed: true }),
			verified(1, { source: 'case', expect: 0, passed: false }),
			failed({ source: 'case', expect: 0, passed: false }),
		];
		const statistics = verificationStatistics(rows);
		assert.equal(decode(verificationStatisticsSchema, statistics).ok, true);
		const { mean, std, withinGroupStd, correlation, ...exact } = statistics;
		assert.deepEqual(exact, {
			rows: 8,
			valued: 6,
			min: 0,
			max: 1,
			nulls: 1,
			errors: 1,
			ceiling: 2 / 6,
			floor: 2 / 6,
			agreement: { problems: 2, agreed: 1 },
			groups: 2,
			deadGroups: 1,
			cases: { passed: 1, failed: 2 },
			recorded: { same: 0, different: 0 },
		});
		close(mean, 0.5);
		// Deviations .5, .5, 0, 0, .5, .5: the squares sum to 1, over n - 1 = 5.
		close(std, Math.sqrt(1 / 5));
		close(withinGroupStd, Math.SQRT1_2 / 2);
		// (1, 2), (0, 4), (.5, 3) are collinear.
		close(correlation.length ?? null, -1);
	});

	it('are null rather than zero without data', () => {
		const { rows, valued, mean, std, ceiling, agreement, withinGroupStd, groups } = verificationStatistics([]);
		assert.deepEqual(
			{ rows, valued, mean, std, ceiling, agreement, withinGroupStd, groups },
			{
				rows: 0,
				valued: 0,
				mean: null,
				std: null,
				ceiling: null,
				agreement: null,
				withinGroupStd: null,
				groups: 0,
			},
		);
		const one = verificationStatistics([verified(3, { group: 0, source: 'gold' })]);
		assert.equal(one.std, 0);
		assert.equal(one.ceiling, null);
		assert.equal(one.groups, 0, 'one row does not make a group');
		assert.equal(one.agreement, null, 'there is no incorrect answer to compare with');
		const nulls = verificationStatistics([verified(null), failed()]);
		assert.deepEqual([nulls.nulls, nulls.errors, nulls.mean], [1, 1, null]);
	});

	it('count agreement if the correct answer scores strictly above every incorrect one that has a value', () => {
		const problem = (group: number, gold: number | null, wrong: (number | null)[]) => [
			verified(gold, { source: 'gold', group }),
			...wrong.map((value) => verified(value, { source: 'wrong', group })),
		];
		const rows = [
			...problem(0, 1, [0, 0.999]),
			...problem(1, 1, [0, 1]),
			...problem(2, null, [0]),
			...problem(3, 0, [null, -1]),
			...problem(4, 1, [null]),
			...problem(5, -2, [-1]),
			failed({ source: 'gold', group: 6 }),
			verified(0, { source: 'wrong', group: 6 }),
			verified(5, { source: 'rollout', group: 0 }),
		];
		assert.deepEqual(verificationStatistics(rows).agreement, { problems: 4, agreed: 2 });
	});

	it('compare values, including null, exactly with those recorded in a run', () => {
		const rows = [
			verified(0.1 + 0.2, { recorded: 0.30000000000000004 }),
			verified(0.3, { recorded: 0.30000000000000004 }),
			verified(null, { recorded: null }),
			verified(null, { recorded: 1 }),
			failed({ recorded: null }),
			verified(-0, { recorded: 0 }),
			verified(1),
		];
		// An error still counts as null, even if the run recorded an intentional null.
		assert.deepEqual(verificationStatistics(rows).recorded, { same: 4, different: 2 });
	});

	it('match the training formulas on random groups', () => {
		for (let seed = 0; seed < 200; seed++) {
			const random = Random.of(seed);
			const size = random.between(2, 6);
			const groups = random.between(1, 6);
			const few = random.int(2) === 0;
			const values = Array.from({ length: size * groups }, () =>
				random.int(6) === 0 ? null : few ? random.int(2) : random.normal(),
			);
			const rows = values.map((value, i) => verified(value, { group: Math.floor(i / size) }));
			// The order of the groups does not matter.
			const { dead, groupStd } = computeAdvantages(values, size, 'group');
			const found = verificationStatistics(random.shuffle(rows));
			const counted = dead.map(
				(_, g) => values.slice(g * size, (g + 1) * size).filter((value) => value !== null).length >= 2,
			);
			assert.equal(found.groups, counted.filter(Boolean).length);
			assert.equal(found.deadGroups, dead.filter((gone, g) => gone && counted[g]).length);
			const stds = [...groupStd].filter((_, g) => counted[g]);
			if (stds.length > 0) close(found.withinGroupStd, mean(stds), 1e-9);
			else assert.equal(found.withinGroupStd, null);
			const valued = values.filter((value) => value !== null);
			if (valued.length > 1) {
				close(found.mean, mean(valued), 1e-9);
				close(found.std, sampleStd(valued), 1e-9);
				const top = Math.max(...valued);
				const share = valued.filter((value) => value === top).length / valued.length;
				assert.equal(found.ceiling, Math.min(...valued) === top ? null : share);
			}
		}
	});

	it('are finite for the largest and smallest numbers', () => {
		for (const scale of [1e308, Number.MAX_VALUE, 5e-324, 1e-310]) {
			const found = moments([scale, -scale, scale, 0]);
			assert.ok(found !== null && Number.isFinite(found.mean) && Number.isFinite(found.std), String(scale));
			assert.equal(moments([scale, scale, scale])?.std, 0);
			const r = correlation([scale, -scale, 0, scale], [1, -1, 0, 1]);
			close(r, 1, 1e-9);
		}
		assert.deepEqual(moments([0.1, 0.1, 0.1]), { mean: 0.1, std: 0, min: 0.1, max: 0.1 });
	});
});

describe('correlation', () => {
	/** Computes Pearson's r with the textbook formula. */
	function textbook(pairs: readonly (readonly [number, number])[]): number {
		const n = pairs.length;
		const mx = pairs.reduce((sum, [x]) => sum + x, 0) / n;
		const my = pairs.reduce((sum, [, y]) => sum + y, 0) / n;
		const cov = pairs.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0);
		const vx = pairs.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
		const vy = pairs.reduce((sum, [, y]) => sum + (y - my) ** 2, 0);
		return cov / Math.sqrt(vx * vy);
	}

	it('matches the textbook formula over rows where both have values', () => {
		for (let seed = 0; seed < 200; seed++) {
			const random = Random.of(seed, 'correlation');
			const n = random.between(3, 40);
			const draw = () => (random.int(5) === 0 ? null : random.normal());
			const a = Array.from({ length: n }, draw);
			const b = a.map((x) => (random.int(2) === 0 || x === null ? draw() : x * 2 + random.normal() * 0.1));
			const pairs = a.flatMap((x, i) => (x === null || b[i] === null ? [] : [[x, b[i] as number] as const]));
			const r = correlation(a, b);
			if (pairs.length < 3) assert.equal(r, null);
			else close(r, textbook(pairs), 1e-9);
			assert.equal(correlation(b, a), r);
		}
	});

	it('is null for a constant and for fewer than three rows', () => {
		assert.equal(correlation([1, 1, 1], [1, 2, 3]), null);
		assert.equal(correlation([1, 2, 3], [0.1, 0.1, 0.1]), null);
		assert.equal(correlation([1, 2, null], [1, 2, 3]), null);
		assert.equal(correlation([1, 2, 3], [3, 2, 1]), -1);
		assert.throws(() => correlation([1], [1, 2]), RangeError);
	});
});

describe('group spread', () => {
	it('lists groups with at least two valued rows, in row order', () => {
		const rows = [
			verified(1, { group: 7, prompt: 'seven' }),
			verified(0, { group: 3 }),
			verified(null, { group: 7 }),
			verified(3, { group: 7 }),
			verified(null, { group: 3 }),
			verified(9),
		];
		assert.deepEqual(groupSpreads(rows), [
			{ group: 7, prompt: 'seven', rows: [0, 2, 3], values: [1, 3], mean: 2, std: Math.SQRT2, dead: false },
		]);
	});
});
