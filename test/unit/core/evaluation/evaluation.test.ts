import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { estimateAccuracy, wilsonInterval } from '../../../../src/core/evaluation/interval.ts';
import { passAtK } from '../../../../src/core/evaluation/passAtK.ts';

const near = (actual: number, expected: number, tolerance = 1e-4) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} not ${expected}`);

describe('the Wilson interval', () => {
	it('gives published values (Newcombe 1998, table I, method 3)', () => {
		for (const [hits, n, low, high] of [
			[81, 263, 0.2553, 0.3662],
			[15, 148, 0.0624, 0.1605],
			[0, 20, 0, 0.1611],
			[1, 29, 0.0061, 0.1718],
		] as const) {
			const { low: l, high: h } = wilsonInterval(hits / n, n);
			near(l, low);
			near(h, high);
		}
	});

	it('keeps to 0..1 and knows nothing without trials', () => {
		assert.equal(wilsonInterval(0, 10).low, 0);
		assert.equal(wilsonInterval(1, 10).high, 1);
		assert.ok(Number.isNaN(wilsonInterval(Number.NaN, 0).accuracy));
	});

	it('covers the truth about 95 times in 100', () => {
		let covered = 0;
		for (let i = 0; i < 2000; i++) {
			const random = Random.of('cover', i);
			let hits = 0;
			for (let t = 0; t < 256; t++) if (random.next() < 0.35) hits++;
			const { low, high } = wilsonInterval(hits / 256, 256);
			if (low <= 0.35 && 0.35 <= high) covered++;
		}
		assert.ok(covered > 1860 && covered < 1940, `${covered}`);
	});
});

describe('accuracy over problems and samples', () => {
	it('is the mean of the problems, whatever their samples', () => {
		assert.equal(estimateAccuracy([[true, true, true, true], [false]]).accuracy, 0.5);
		const single = estimateAccuracy([[true], [false], [false], [true]]);
		const { low, high } = wilsonInterval(0.5, 4);
		assert.deepEqual(single, { accuracy: 0.5, low, high });
	});

	it('does not count samples of one problem as independent', () => {
		const width = (correct: boolean[][]) => {
			const { low, high } = estimateAccuracy(correct);
			return high - low;
		};
		const decided = Array.from({ length: 20 }, (_, i) => Array<boolean>(8).fill(i % 2 === 0));
		const mixed = Array.from({ length: 20 }, (_, i) => Array.from({ length: 8 }, (_, s) => (s + i) % 2 === 0));
		near(width(decided), width(Array.from({ length: 20 }, (_, i) => [i % 2 === 0])), 1e-12);
		assert.ok(width(mixed) < width(decided));
	});

	it('of nothing is unknown', () => {
		assert.ok(Number.isNaN(estimateAccuracy([]).accuracy));
		assert.ok(Number.isNaN(estimateAccuracy([[]]).accuracy));
	});
});

describe('pass@k', () => {
	it('is the unbiased estimate of Chen et al. 2021', () => {
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
