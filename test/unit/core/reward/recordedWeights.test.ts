import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import {
	type RecordedGroup,
	type RecordedTotal,
	recordedWeights,
} from '../../../../src/core/reward/recordedWeights.ts';

const float = Math.fround;
const weigh = (scores: readonly number[], weights: readonly number[]) =>
	scores.reduce((sum, score, k) => sum + score * (weights[k] as number), 0);

/** Values as TRL logs them: means and totals in float32. */
function logged(random: Random, weights: readonly number[], steps: number): RecordedTotal[] {
	return Array.from({ length: steps }, () => {
		const scores = weights.map(() => float(random.next() * 2 - 0.5));
		return { scores, total: float(weigh(scores, weights)) };
	});
}

/**
 * Values as TRL computes them: totals minus their group's mean, divided by their standard deviation plus 1e-4, in
 * float32.
 */
function credited(random: Random, weights: readonly number[], count: number, size = 8): RecordedGroup[] {
	return Array.from({ length: count }, () => {
		const scores = Array.from({ length: size }, () => weights.map(() => float(random.int(9) / 8)));
		const totals = scores.map((row) => float(weigh(row, weights)));
		const mean = totals.reduce((sum, total) => sum + total, 0) / size;
		const deviation = Math.sqrt(totals.reduce((sum, total) => sum + (total - mean) ** 2, 0) / (size - 1));
		return { scores, advantages: totals.map((total) => float((total - mean) / (deviation + 1e-4))) };
	});
}

const nice = [1, 0.5, 0.25, 0.1, 2, 0, -0.5, 0.333, 3.75];

describe('reward weights inferred from recorded values', () => {
	it('are exact if logged totals determine them', () => {
		for (let seed = 0; seed < 200; seed++) {
			const random = Random.of(seed, 'weights');
			const weights = Array.from({ length: 1 + random.int(5) }, () => nice[random.int(nice.length)] as number);
			const found = recordedWeights(weights.length, logged(random, weights, weights.length + 3 + random.int(40)), []);
			assert.equal(found.totalsFit, true, `seed ${seed}`);
			assert.ok(found.scaled);
			for (const [k, weight] of weights.entries()) {
				// With few rows, columns can be nearly collinear; then the weight is reported as undetermined.
				if (found.determined[k]) assert.ok(Math.abs((found.weights[k] as number) - weight) <= 1e-3, `seed ${seed}`);
			}
			if (weights.length <= 2) assert.deepEqual(found.weights, weights, `seed ${seed}`);
		}
	});

	it('are 1 and reported as undetermined if several solutions fit', () => {
		const steady: RecordedTotal[] = [1, 2, 3].map((a) => ({ scores: [a, 0], total: a * 0.5 }));
		assert.deepEqual(recordedWeights(2, steady, []), {
			weights: [0.5, 1],
			determined: [true, false],
			scaled: true,
			totalsFit: true,
			advantagesFit: null,
		});
		const none = recordedWeights(2, [], []);
		assert.deepEqual([none.weights, none.determined, none.totalsFit], [[1, 1], [false, false], null]);
		const one = recordedWeights(2, [{ scores: [1, 1], total: 1.25 }], []);
		assert.deepEqual(one.determined, [false, false]);
		assert.ok(Math.abs(weigh([1, 1], one.weights) - 1.25) < 1e-9, 'the weights still reproduce the total');
	});

	it('do not fit if the total is not a weighted sum', () => {
		const random = Random.of(4, 'other');
		const rows = logged(random, [1, 0.5], 20).map((row, i) => ({ ...row, total: row.total - i / 50 }));
		const found = recordedWeights(2, rows, []);
		assert.deepEqual([found.totalsFit, found.weights, found.determined], [false, [1, 1], [false, false]]);
	});

	it('follow from advantages up to a factor', () => {
		for (let seed = 0; seed < 100; seed++) {
			const random = Random.of(seed, 'advantages');
			const weights = [1, ...Array.from({ length: 1 + random.int(3) }, () => nice[random.int(nice.length)] as number)];
			const found = recordedWeights(weights.length, [], credited(random, weights, 6));
			assert.equal(found.advantagesFit, true, `seed ${seed}`);
			assert.ok(!found.scaled && found.determined.every(Boolean));
			const largest = Math.max(...weights.map(Math.abs));
			for (const [k, weight] of weights.entries()) {
				assert.ok(Math.abs((found.weights[k] as number) - weight / largest) < 1e-4, `seed ${seed}: ${found.weights}`);
			}
		}
	});

	it('get their factor from a single logged total', () => {
		const random = Random.of(6, 'both');
		const weights = [2, 0.5, -0.25];
		const found = recordedWeights(3, logged(random, weights, 1), credited(random, weights, 4));
		assert.deepEqual([found.weights, found.scaled, found.totalsFit], [weights, true, true]);
	});

	it('ignore advantages that do not fit and functions that never vary', () => {
		const random = Random.of(7, 'kinds');
		const shuffled = credited(random, [1, 0.5], 6).map(({ scores, advantages }) => ({
			scores,
			advantages: advantages.toReversed(),
		}));
		assert.equal(recordedWeights(2, [], shuffled).advantagesFit, false);
		const idle = credited(random, [1, 0.2], 6).map(({ scores, advantages }) => ({
			scores: scores.map((row) => [...row, 1]),
			advantages,
		}));
		const found = recordedWeights(3, [], idle);
		assert.deepEqual(
			[found.weights, found.determined],
			[
				[1, 0.2, 1],
				[true, true, false],
			],
		);
		// Equal advantages for different scores: the function has weight 0.
		const watched = credited(random, [1, 0], 6);
		const ignored = { scores: [0, 1, 0, 1].map((b) => [1, b]), advantages: [0, 0, 0, 0] };
		assert.deepEqual(recordedWeights(2, [], [...watched, ignored]).weights, [1, 0]);
	});
});
