import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import {
	deadChance,
	drawRate,
	expectedRate,
	isMeasured,
	unknownPassRates,
	withResults,
} from '../../../../src/core/curriculum/passRates.ts';

const near = (actual: number, expected: number, by: number) =>
	assert.ok(Math.abs(actual - expected) <= by, `${actual} is not ${expected} ± ${by}`);

// The MoPPS update in the authors' code: alpha = alpha * decay + 1 * (1 - decay) + successes, with a prior of 1.
it('matches the update of MoPPS', () => {
	const random = Random.of('mopps');
	let [alpha, beta] = [1, 1];
	let rates = unknownPassRates(2);
	for (let i = 0; i < 20; i++) {
		const successes = random.int(9);
		const decay = 0.7;
		alpha = alpha * decay + (1 - decay) + successes;
		beta = beta * decay + (1 - decay) + 8 - successes;
		rates = withResults(rates, [{ problem: 1, successes, failures: 8 - successes }], decay);
		near(expectedRate(rates, 1), alpha / (alpha + beta), 1e-12);
	}
	assert.equal(expectedRate(rates, 0), 0.5);
	assert.deepEqual([isMeasured(rates, 0), isMeasured(rates, 1)], [false, true]);
});

it('does not modify the rates it was given', () => {
	const before = unknownPassRates(1);
	withResults(before, [{ problem: 0, successes: 1, failures: 0 }], 0.5);
	assert.deepEqual(before, unknownPassRates(1));
});

it('distinguishes a problem with only failures from one that was never sampled', () => {
	const rates = withResults(unknownPassRates(1), [{ problem: 0, successes: 0, failures: 8 }], 0);
	assert.ok(isMeasured(rates, 0));
});

it('gives the probability of a dead group', () => {
	// With an unknown pass rate, each number of correct completions is equally likely.
	for (const size of [2, 8, 16]) near(deadChance(unknownPassRates(1), 0, size), 2 / (size + 1), 1e-12);
	const rates = withResults(unknownPassRates(1), [{ problem: 0, successes: 3, failures: 7 }], 0.5);
	const random = Random.of('dead');
	let dead = 0;
	const n = 40_000;
	for (let i = 0; i < n; i++) {
		const rate = drawRate(rates, 0, random);
		dead += rate ** 4 + (1 - rate) ** 4;
	}
	near(deadChance(rates, 0, 4), dead / n, 0.005);
});

it('draws from the distribution of the pass rate', () => {
	const rates = withResults(unknownPassRates(1), [{ problem: 0, successes: 2, failures: 12.5 }], 0.5);
	const [a, b] = [3, 13.5];
	const random = Random.of('draw');
	const draws = Array.from({ length: 40_000 }, () => drawRate(rates, 0, random));
	const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
	near(mean, a / (a + b), 0.003);
	const variance = draws.reduce((sum, x) => sum + (x - mean) ** 2, 0) / draws.length;
	near(variance, (a * b) / ((a + b) ** 2 * (a + b + 1)), 0.0005);
});
