import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import {
	estimateAdvantages,
	explainedVariance,
	tokenRewards,
	whiten,
} from '../../../../src/core/ppo/advantageEstimation.ts';
import { policyMetrics, valueClipShare } from '../../../../src/core/ppo/ppoMetrics.ts';

const close = (a: number, b: number, tolerance = 1e-12) => assert.ok(Math.abs(a - b) < tolerance, `${a} is not ${b}`);

function sample(random: Random, length: number) {
	const list = () => Array.from({ length }, () => random.normal());
	return { rewards: list(), values: list(), gamma: random.next(), lam: random.next() };
}

test('an advantage is the sum of (gamma lam)^k times the following deltas (Schulman et al. 2016, equation 16)', () => {
	const random = Random.of('gae', 1);
	for (let n = 0; n < 100; n++) {
		const length = 1 + random.int(8);
		const { rewards, values, gamma, lam } = sample(random, length);
		const { advantages, returns } = estimateAdvantages(rewards, values, { gamma, lam });
		for (let t = 0; t < length; t++) {
			let sum = 0;
			for (let k = t; k < length; k++) {
				const after = k + 1 < length ? (values[k + 1] as number) : 0;
				const delta = (rewards[k] as number) + gamma * after - (values[k] as number);
				sum += (gamma * lam) ** (k - t) * delta;
			}
			close(advantages[t] as number, sum);
			close(returns[t] as number, sum + (values[t] as number));
		}
	}
});

test('with lam 1, returns are discounted rewards for any values; with lam 0, advantages are single deltas', () => {
	const random = Random.of('gae', 2);
	for (let n = 0; n < 100; n++) {
		const length = 1 + random.int(8);
		const { rewards, values, gamma } = sample(random, length);
		const whole = estimateAdvantages(rewards, values, { gamma, lam: 1 }).returns;
		const single = estimateAdvantages(rewards, values, { gamma, lam: 0 }).advantages;
		for (let t = 0; t < length; t++) {
			close(
				whole[t] as number,
				rewards.slice(t).reduce((sum, r, k) => sum + gamma ** k * r, 0),
			);
			close(
				single[t] as number,
				(rewards[t] as number) + gamma * (t + 1 < length ? (values[t + 1] as number) : 0) - (values[t] as number),
			);
		}
	}
	// Open-Reasoner-Zero: with one reward at the end and gamma = lam = 1, the advantage is the reward minus the value.
	const { advantages } = estimateAdvantages(tokenRewards(1, [-1, -1, -1], null, 0), [0.25, 0.5, 0.75], {
		gamma: 1,
		lam: 1,
	});
	assert.deepEqual([...advantages], [0.75, 0.5, 0.25]);
	assert.throws(() => estimateAdvantages([1], [1, 2], { gamma: 1, lam: 1 }), RangeError);
});

test('the reward is given at the last token, and each token is penalized by its KL to the reference', () => {
	const rewards = tokenRewards(2, [-1, -2, -0.5], [-1.5, -1, -0.5], 0.1);
	for (const [t, expected] of [-0.05, 0.1, 2].entries()) close(rewards[t] as number, expected);
	assert.deepEqual([...tokenRewards(3, [-1, -2], null, 0.5)], [0, 3]);
	assert.deepEqual([...tokenRewards(3, [], null, 0)], []);
});

test('whitened advantages have mean 0 and sample standard deviation 1 over all tokens, in order', () => {
	const random = Random.of('whiten', 1);
	for (let n = 0; n < 50; n++) {
		const rows = Array.from({ length: 2 + random.int(4) }, () =>
			Float64Array.from({ length: 1 + random.int(6) }, () => 5 + 3 * random.normal()),
		);
		const white = whiten(rows);
		const [before, after] = [rows, white].map((list) => list.flatMap((row) => [...row])) as [number[], number[]];
		const mean = after.reduce((a, b) => a + b, 0) / after.length;
		close(mean, 0, 1e-10);
		close(after.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (after.length - 1), 1, 1e-6);
		for (const [i, x] of before.entries()) {
			for (const [j, y] of before.entries()) if (x < y) assert.ok((after[i] as number) < (after[j] as number));
		}
	}
	assert.deepEqual(
		whiten([Float64Array.of(2, 2), Float64Array.of(2)]).map((row) => [...row]),
		[[0, 0], [0]],
	);
	assert.deepEqual(
		whiten([Float64Array.of(7)]).map((row) => [...row]),
		[[0]],
	);
	assert.deepEqual(whiten([]), []);
});

test('explained variance is 1 if values equal the returns, and 0 for a constant', () => {
	assert.equal(explainedVariance([1, 2, 4], [1, 2, 4]), 1);
	// A constant offset does not matter.
	assert.equal(explainedVariance([2, 3, 5], [1, 2, 4]), 1);
	assert.equal(explainedVariance([3, 3, 3], [1, 2, 4]), 0);
	assert.ok(explainedVariance([4, 2, 1], [1, 2, 4]) < 0);
	assert.ok(Number.isNaN(explainedVariance([1, 2], [3, 3])));
});

test('update metrics are computed over tokens', () => {
	const row = {
		advantages: [1, -1, 1],
		logprobs: [-1, -1, -1],
		oldLogprobs: [-1.5, -0.5, -1],
		entropies: [0.5, 1, 1.5],
	};
	const metrics = policyMetrics([row, { ...row, oldLogprobs: null }], 0.2);
	assert.deepEqual(metrics, {
		policy_kl: 0,
		entropy: 1,
		'clip_ratio/low_mean': 1 / 6,
		'clip_ratio/high_mean': 1 / 6,
		'clip_ratio/region_mean': 2 / 6,
	});
	assert.equal(valueClipShare([{ values: [0.1, 0.5, -0.4, 9], oldValues: [0, 0, 0] }], 0.3), 2 / 3);
});
