import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { differenceInterval } from '../../../../src/core/evaluation/differenceInterval.ts';
import { mcnemarExact, signFlipTest } from '../../../../src/core/evaluation/pairedTest.ts';
import { comparePaired, countProblems, pairProblems } from '../../../../src/core/evaluation/pairProblems.ts';
import { coverageOf, falsePositives } from '../../../support/coverage.ts';

const near = (actual: number, expected: number, tolerance = 1e-12) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

describe('exact McNemar', () => {
	test('matches hand-computed values', () => {
		// 2 (C(12,0) + C(12,1) + C(12,2)) / 2^12 = 158 / 4096
		near(mcnemarExact(10, 2), 158 / 4096);
		near(mcnemarExact(2, 10), 158 / 4096);
		// 2 / 2^6
		near(mcnemarExact(6, 0), 2 / 64);
		near(mcnemarExact(0, 5), 2 / 32);
		assert.equal(mcnemarExact(5, 5), 1);
		assert.equal(mcnemarExact(0, 0), 1);
		assert.equal(mcnemarExact(1, 0), 1);
	});

	test('matches the example in Agresti (1990): 86 and 150 changed approvals', () => {
		// 2 (C(236, 0) + ... + C(236, 86)) / 2^236, computed with integers.
		near(mcnemarExact(86, 150), 3.715936139571442e-5, 1e-12);
	});

	test('is finite for large counts', () => {
		assert.ok(mcnemarExact(50_000, 50_000) === 1);
		const p = mcnemarExact(49_500, 50_500);
		near(p, 0.00158, 0.0001);
		assert.equal(mcnemarExact(0, 5000), 0);
	});
});

describe('sign-flip test', () => {
	test('equals exact McNemar for binary outcomes, regardless of the number of ties', () => {
		for (const [won, lost] of [
			[6, 0],
			[1, 7],
			[5, 5],
			[12, 7],
		] as const) {
			const differences = [...Array<number>(won).fill(1), ...Array<number>(lost).fill(-1), 0, 0, 0];
			near(signFlipTest(differences), mcnemarExact(lost, won));
		}
	});

	test('counts all sign assignments: hand-computed values', () => {
		// Of the 8 sums of ±1 ±2 ±4, 7 and -7 are at least as extreme as 7; in the second case, 5, -5, 7 and -7 are at
		// least as extreme as 5.
		near(signFlipTest([1, 2, 4]), 2 / 8);
		near(signFlipTest([-1, 2, 4]), 4 / 8);
		// 0.1 + 0.2 is not 0.3 in doubles; sums equal up to rounding must count.
		near(signFlipTest([0.1, 0.2, -0.3]), 1);
		near(signFlipTest([-0.25, -0.25, -0.25, -0.25, -0.25, -0.25]), 2 / 64);
		assert.equal(signFlipTest([0, 0, 0]), 1);
		assert.ok(Number.isNaN(signFlipTest([])));
	});

	test('samples assignments for many problems, is close to the exact p, and is deterministic', () => {
		const differences = Array.from({ length: 100 }, (_, i) => (i < 60 ? 1 : -1));
		near(signFlipTest(differences), mcnemarExact(40, 60), 0.006);
		assert.equal(signFlipTest(differences), signFlipTest(differences));
		assert.ok(signFlipTest(Array<number>(200).fill(0.5)) > 0, 'never 0');
	});

	test('rarely reports a difference between equal runs, even with few problems', () => {
		for (const [questions, samples] of [
			[6, 4],
			[6, 16],
			[12, 4],
		] as const) {
			const found = falsePositives({ questions, samples, p: 0.3, apart: 0.5 }, 600);
			assert.ok(found <= 0.075, `${questions} problems, ${samples} samples: ${found}`);
		}
	});
});

describe('confidence interval for a mean difference', () => {
	test('has a nonzero width even if all problems differ equally, or none do', () => {
		const none = differenceInterval([0, 0, 0, 0, 0, 0, 0, 0]);
		assert.equal(none.mean, 0);
		assert.ok(none.low < -0.1 && none.high > 0.1);
		const all = differenceInterval([0.25, 0.25, 0.25]);
		near(all.mean, 0.25);
		assert.ok(all.low < 0.2 && all.high >= 0.25);
		assert.deepEqual(differenceInterval([1]), { mean: 1, low: -1, high: 1 });
		assert.ok(Number.isNaN(differenceInterval([]).mean));
	});

	test('is close to mean ± 1.96 standard errors for many problems', () => {
		const random = Random.of('data');
		const values = Array.from({ length: 400 }, () => random.uint32() / 2 ** 32 - 0.4);
		const mean = values.reduce((a, b) => a + b, 0) / 400;
		const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 399);
		const { low, high } = differenceInterval(values);
		near(low, mean - (1.96 * deviation) / 20, 0.002);
		near(high, mean + (1.96 * deviation) / 20, 0.002);
	});

	test('contains the true value in 93 to 98 of 100 simulated pairs', () => {
		for (const [questions, samples, p, better] of [
			[10, 4, 0.3, 0.1],
			[50, 1, 0.5, 0.1],
			[50, 4, 0.02, 0],
			[200, 4, 0.4, 0.1],
		] as const) {
			const { held } = coverageOf({ of: 'difference', questions, samples, p, apart: 0.3, better }, 1000);
			assert.ok(held >= 0.925 && held <= 0.985, `${questions} problems: ${held}`);
		}
	});
});

describe('runs compared by problem', () => {
	const samples = (right: string, all = 'abcdefghij') =>
		countProblems([...all].map((problem) => ({ problem, correct: right.includes(problem) })));

	test('with one sample per problem: McNemar', () => {
		const result = comparePaired(pairProblems(samples('abc'), samples('bcdefghi')));
		assert.equal(result.test, 'mcnemar');
		if (result.test !== 'mcnemar') return;
		assert.deepEqual([result.onlyFirst, result.onlySecond, result.problems], [1, 6, 10]);
		// n = 7, 2 (1 + 7) / 128
		near(result.p, 16 / 128);
		near(result.first, 0.3);
		near(result.second, 0.8);
		near(result.difference.mean, 0.5);
		assert.ok(result.difference.low < 0.5 && result.difference.high > 0.5);
	});

	test('with several samples: sign-flip test', () => {
		const twice = countProblems(
			[...'abcdefgh'].flatMap((problem) => [0, 1].map((i) => ({ problem, correct: i === 0 }))),
		);
		const result = comparePaired(pairProblems(twice, samples('abcdefgh')));
		assert.equal(result.test, 'sign-flip');
		if (result.test === 'sign-flip') near(result.difference.mean, 0.5);
	});

	test('swapping the runs swaps gained and lost and negates the difference', () => {
		const random = Random.of(3, 'symmetry');
		const made = () =>
			countProblems(
				Array.from({ length: 240 }, (_, i) => ({ problem: `${i % 60}`, correct: random.uint32() % 3 === 0 })),
			);
		const [one, other] = [made(), made()];
		const [there, back] = [comparePaired(pairProblems(one, other)), comparePaired(pairProblems(other, one))];
		assert.ok(there.test === 'sign-flip' && back.test === 'sign-flip');
		assert.deepEqual([there.gained, there.lost], [back.lost, back.gained]);
		assert.ok(there.gained > 0 && there.lost > 0);
		near(there.difference.mean, -back.difference.mean);
		near(there.difference.low, -back.difference.high);
		near(there.difference.high, -back.difference.low);
		near(there.p, back.p);
		const same = comparePaired(pairProblems(one, one));
		assert.ok(same.test === 'sign-flip' && same.gained === 0 && same.lost === 0 && same.difference.mean === 0);
	});

	test('that cannot be compared come with a reason', () => {
		const none = comparePaired(pairProblems(samples('a', 'abcdef'), samples('g', 'ghijkl')));
		assert.match(none.test === 'none' ? none.reason : '', /different problems/);
		const few = comparePaired(pairProblems(samples('a', 'abcxyz'), samples('a', 'abcuvw')));
		assert.match(
			few.test === 'none' ? few.reason : '',
			/Only 3 problems are in both runs \(3 only in the first, 3 only/,
		);
	});
});
