import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { mcnemarExact, pairedBootstrap } from '../../../../src/core/evaluation/pairedTest.ts';
import { comparePaired, countProblems, pairProblems } from '../../../../src/core/evaluation/pairProblems.ts';

const near = (actual: number, expected: number, tolerance = 1e-12) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

describe('exact McNemar', () => {
	test('values by hand', () => {
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

	test('the example of Agresti (1990): 86 and 150 approvals that changed', () => {
		// 2 (C(236, 0) + ... + C(236, 86)) / 2^236, with whole numbers.
		near(mcnemarExact(86, 150), 3.715936139571442e-5, 1e-12);
	});

	test('large counts stay finite', () => {
		assert.ok(mcnemarExact(50_000, 50_000) === 1);
		const p = mcnemarExact(49_500, 50_500);
		near(p, 0.00158, 0.0001);
		assert.equal(mcnemarExact(0, 5000), 0);
	});
});

describe('paired bootstrap', () => {
	test('of equal differences has no width; of none there is nothing', () => {
		const same = pairedBootstrap([0.25, 0.25, 0.25], Random.of('test'));
		near(same.mean, 0.25);
		near(same.low, 0.25);
		near(same.high, 0.25);
		const zero = pairedBootstrap([0, 0, 0, 0], Random.of('test'));
		assert.equal(zero.p, 1);
		assert.ok(Number.isNaN(pairedBootstrap([], Random.of('test')).mean));
	});

	test('the interval comes near mean +- 1.96 standard errors', () => {
		const random = Random.of('data');
		const values = Array.from({ length: 400 }, () => random.uint32() / 2 ** 32 - 0.4);
		const mean = values.reduce((a, b) => a + b, 0) / 400;
		const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 399);
		const { low, high, resamples } = pairedBootstrap(values, Random.of('draws'));
		assert.equal(resamples, 10_000);
		near(low, mean - (1.96 * deviation) / 20, 0.003);
		near(high, mean + (1.96 * deviation) / 20, 0.003);
	});

	test('p comes near that of a z test', () => {
		// 100 differences of +-1, 60 up: resamples have X ~ Binomial(100, 0.6) up, and P(|X - 60| >= 10) is 0.0525 by the
		// normal distribution with correction for continuity, 9.5 / 4.9 deviations.
		const values = Array.from({ length: 100 }, (_, i) => (i < 60 ? 1 : -1));
		near(pairedBootstrap(values, Random.of('z')).p, 0.0525, 0.01);
	});

	test('repeats itself, and takes fewer resamples of very many problems', () => {
		const values = Array.from({ length: 50_000 }, (_, i) => (i % 3) - 1);
		const one = pairedBootstrap(values, Random.of('same'));
		assert.deepEqual(one, pairedBootstrap(values, Random.of('same')));
		assert.equal(one.resamples, 400);
	});
});

describe('runs that are compared by problem', () => {
	const samples = (right: string, all = 'abcdefghij') =>
		countProblems([...all].map((problem) => ({ problem, correct: right.includes(problem) })));

	test('with one sample a problem: McNemar', () => {
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

	test('with several samples: the bootstrap', () => {
		const twice = countProblems(
			[...'abcdefgh'].flatMap((problem) => [0, 1].map((i) => ({ problem, correct: i === 0 }))),
		);
		const result = comparePaired(pairProblems(twice, samples('abcdefgh')));
		assert.equal(result.test, 'bootstrap');
		if (result.test === 'bootstrap') near(result.difference.mean, 0.5);
	});

	test('gained and lost change places with the runs, and so does the difference', () => {
		const random = Random.of(3, 'symmetry');
		const made = () =>
			countProblems(
				Array.from({ length: 240 }, (_, i) => ({ problem: `${i % 60}`, correct: random.uint32() % 3 === 0 })),
			);
		const [one, other] = [made(), made()];
		const [there, back] = [comparePaired(pairProblems(one, other)), comparePaired(pairProblems(other, one))];
		assert.ok(there.test === 'bootstrap' && back.test === 'bootstrap');
		assert.deepEqual([there.gained, there.lost], [back.lost, back.gained]);
		assert.ok(there.gained > 0 && there.lost > 0);
		near(there.difference.mean, -back.difference.mean);
		near(there.difference.low, -back.difference.high);
		near(there.difference.high, -back.difference.low);
		near(there.p, back.p);
		const same = comparePaired(pairProblems(one, one));
		assert.ok(same.test === 'bootstrap' && same.gained === 0 && same.lost === 0 && same.difference.mean === 0);
	});

	test('the interval of the difference holds the true one in 93 to 97 % of simulated pairs', () => {
		const random = Random.of(5, 'coverage');
		const draw = (p: number) => random.uint32() / 2 ** 32 < p;
		const trials = 400;
		let held = 0;
		for (let trial = 0; trial < trials; trial++) {
			// What makes a problem hard is hard for both; the second is right 0.1 more often.
			const differences = Array.from({ length: 200 }, () => {
				const p = 0.1 + 0.7 * (random.uint32() / 2 ** 32);
				const share = (q: number) => [0, 1, 2, 3].filter(() => draw(q)).length / 4;
				return share(p + 0.1) - share(p);
			});
			const { low, high } = pairedBootstrap(differences, Random.of(trial, 'resamples'), 500);
			if (low <= 0.1 && high >= 0.1) held++;
		}
		assert.ok(held / trials >= 0.93 && held / trials <= 0.97, String(held / trials));
	});

	test('that cannot be: with the reason', () => {
		const none = comparePaired(pairProblems(samples('a', 'abcdef'), samples('g', 'ghijkl')));
		assert.match(none.test === 'none' ? none.reason : '', /different problems/);
		const few = comparePaired(pairProblems(samples('a', 'abcxyz'), samples('a', 'abcuvw')));
		assert.match(few.test === 'none' ? few.reason : '', /Only 3 problems are in both \(3 only in the first, 3 only/);
	});
});
