import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { completionKl, leaveOneOutAdvantages } from '../../../../src/core/rloo/leaveOneOut.ts';
import { sequenceMetrics } from '../../../../src/core/rloo/sequenceLoss.ts';

test('an advantage is the reward minus the mean of the others in its group (Ahmadian et al. 2024, equation 8)', () => {
	const { values, dead } = leaveOneOutAdvantages([1, 0, 0, 0, 2, -1, 0.5, 0.5], 4);
	assert.deepEqual([...values], [1, -1 / 3, -1 / 3, -1 / 3, 2 - 0 / 3, -1 - 3 / 3, 0.5 - 1.5 / 3, 0.5 - 1.5 / 3]);
	assert.deepEqual(dead, [false, false]);
});

test('advantages in a group sum to 0, do not depend on a constant, and are n / (n - 1) times the distance to its mean', () => {
	const random = Random.of('leave one out', 1);
	for (let k = 0; k < 200; k++) {
		const size = 2 + random.int(7);
		const rewards = Array.from({ length: size }, () => random.normal());
		const { values } = leaveOneOutAdvantages(rewards, size);
		const mean = rewards.reduce((a, b) => a + b, 0) / size;
		assert.ok(Math.abs(values.reduce((a, b) => a + b, 0)) < 1e-12);
		const moved = leaveOneOutAdvantages(
			rewards.map((r) => r + 3),
			size,
		).values;
		for (const [i, r] of rewards.entries()) {
			assert.ok(Math.abs((values[i] as number) - (size / (size - 1)) * (r - mean)) < 1e-12);
			assert.ok(Math.abs((values[i] as number) - (moved[i] as number)) < 1e-12);
		}
	}
});

test('rows without a reward are excluded from the baseline, as in TRL, and equal rewards give exactly 0', () => {
	const { values, dead } = leaveOneOutAdvantages([1, null, 0, 0.1, 0.1, 0.1, null, null, 3], 3);
	assert.deepEqual([...values], [1, 0, -1, 0, 0, 0, 0, 0, 0]);
	assert.deepEqual(dead, [false, true, true]);
	assert.throws(() => leaveOneOutAdvantages([1, 2, 3], 2), RangeError);
});

test("a completion's KL is the sum of its log-ratios, and is negative if the policy assigns it less probability", () => {
	assert.ok(Math.abs(completionKl([-1, -2], [-1.5, -2.25]) - 0.75) < 1e-15);
	assert.ok(completionKl([-2], [-1]) < 0);
});

test('clip ratios are fractions of completions, based on the ratio over all their tokens', () => {
	const row = (advantage: number, logprobs: number[], old: number[] | null, masked = false) => {
		return { masked, advantage, logprobs, oldLogprobs: old, entropies: logprobs.map(() => 0.5) };
	};
	const range = { epsilonLow: 0.2, epsilonHigh: 0.2 };
	const metrics = sequenceMetrics(
		[
			// Each token is within the range, but the product is not.
			row(1, [-1, -1, -1], [-1.1, -1.1, -1.1]),
			row(-1, [-1.2, -1.2], [-1, -1]),
			row(-1, [-1], [-1.5]),
			row(1, [-1], null),
			row(1, [-1, -1], [-9, -9], true),
		],
		range,
	);
	assert.deepEqual(metrics, {
		entropy: 0.5,
		'clip_ratio/low_mean': 0.2,
		'clip_ratio/low_min': 0,
		'clip_ratio/high_mean': 0.2,
		'clip_ratio/high_max': 1,
		'clip_ratio/region_mean': 0.4,
	});
});
