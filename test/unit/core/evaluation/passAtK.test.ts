import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { estimateAccuracy, meanInterval, shareInterval } from '../../../../src/core/evaluation/meanInterval.ts';
import { passAtK } from '../../../../src/core/evaluation/passAtK.ts';
import { t95 } from '../../../../src/core/evaluation/studentT.ts';
import { coverageOf } from '../../../support/coverage.ts';

const near = (actual: number, expected: number, tolerance = 1e-4) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} not ${expected}`);

describe('confidence interval for a proportion', () => {
	it('matches Agresti and Coull (1998) up to rounding: two standard errors after adding two successes and two failures', () => {
		// 9 of 10: (9 + 1.92) / (10 + 3.84) = 0.789, +- 1.96 sqrt(0.789 x 0.211 / 13.84).
		const { low, high } = shareInterval(9, 10);
		near(low, 0.574);
		near(high, 1);
		const many = shareInterval(81, 263);
		near(many.low, 0.2552);
		near(many.high, 0.3663);
	});

	it('stays within 0..1, has a nonzero width if all outcomes are equal, and is unknown without trials', () => {
		const none = shareInterval(0, 10);
		assert.equal(none.low, 0);
		assert.ok(none.high > 0.25 && none.high < 0.35);
		const three = shareInterval(3, 3);
		assert.equal(three.high, 1);
		assert.ok(three.low < 0.5, 'three out of three prove little');
		assert.ok(Number.isNaN(shareInterval(0, 0).accuracy));
	});
});

describe("Student's t", () => {
	it('has the percentiles from published tables', () => {
		for (const [freedom, value] of [
			[1, 12.706],
			[2, 4.303],
			[3, 3.182],
			[5, 2.571],
			[9, 2.262],
			[30, 2.042],
			[1e9, 1.96],
		] as const) {
			near(t95(freedom), value, freedom < 5 ? 0.005 : 0.001);
		}
	});
});

describe('confidence interval for a mean over questions', () => {
	it('contains the true value in 93 to 98 of 100 evaluations, even in edge cases and with several samples per question', () => {
		for (const [questions, samples, p, apart] of [
			[50, 1, 0.5, 0],
			[50, 1, 0.95, 0],
			[50, 16, 0.95, 0.4],
			[50, 4, 0.1, 0.8],
			[20, 16, 0.3, 0.8],
			[200, 4, 0.02, 0],
		] as const) {
			const { held } = coverageOf({ of: 'accuracy', questions, samples, p, apart }, 1000);
			assert.ok(held >= 0.925 && held <= 0.985, `${questions} questions, ${samples} samples, p ${p}: ${held}`);
		}
		for (const measure of ['pass@4', 'cons@3', 'gain of cons@3'] as const) {
			const { held } = coverageOf({ of: measure, questions: 100, samples: 8, p: 0.4, apart: 0.4 }, 1000);
			assert.ok(held >= 0.925 && held <= 0.985, `${measure}: ${held}`);
		}
	});

	it("is narrower if a question's samples are not redundant", () => {
		const { low, high } = meanInterval(Array.from({ length: 40 }, (_, i) => (8 + (i % 3) - 1) / 16));
		const once = shareInterval(20, 40);
		assert.ok(high - low < 0.35 * (once.high - once.low));
	});
});

describe('accuracy over problems and samples', () => {
	it('is the mean over problems, however many samples they have', () => {
		assert.equal(estimateAccuracy([[true, true, true, true], [false]]).accuracy, 0.5);
		const single = estimateAccuracy([[true], [false], [false], [true]]);
		const { low, high } = shareInterval(2, 4);
		assert.deepEqual(single, { accuracy: 0.5, low, high });
	});

	it('does not treat samples for the same problem as independent', () => {
		const width = (correct: boolean[][]) => {
			const { low, high } = estimateAccuracy(correct);
			return high - low;
		};
		const decided = Array.from({ length: 20 }, (_, i) => Array<boolean>(8).fill(i % 2 === 0));
		const mixed = Array.from({ length: 20 }, (_, i) => Array.from({ length: 8 }, (_, s) => (s + i) % 2 === 0));
		near(width(decided), width(Array.from({ length: 20 }, (_, i) => [i % 2 === 0])), 1e-12);
		assert.ok(width(mixed) < width(decided));
	});

	it('is unknown without data', () => {
		assert.ok(Number.isNaN(estimateAccuracy([]).accuracy));
		assert.ok(Number.isNaN(estimateAccuracy([[]]).accuracy));
	});
});

describe('pass@k', () => {
	it('is the unbiased estimator by Chen et al. 2021', () => {
		// 1 - C(3, 2) / C(5, 2) = 1 - 3 / 10.
		near(passAtK(5, 2, 2), 0.7, 1e-12);
		assert.equal(passAtK(5, 0, 3), 0);
		assert.equal(passAtK(5, 3, 3), 1);
		near(passAtK(10, 3, 1), 0.3, 1e-12);
		assert.ok(Number.isNaN(passAtK(2, 1, 3)));
		assert.ok(passAtK(10_000, 1, 5000) > 0.49);
	});

	it('is the mean over all choices of k samples', () => {
		const n = 6;
		for (let c = 0; c <= n; c++) {
			for (let k = 1; k <= n; k++) {
				let chosen = 0;
				let hit = 0;
				for (let set = 0; set < 1 << n; set++) {
					if (set.toString(2).replaceAll('0', '').length !== k) continue;
					chosen++;
					if ((set & ((1 << c) - 1)) !== 0) hit++;
				}
				near(passAtK(n, c, k), hit / chosen, 1e-12);
			}
		}
	});
});
