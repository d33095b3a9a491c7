import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultObjective } from '../../../../src/core/grpo/objective/objective.ts';
import { updateMetrics } from '../../../../src/core/grpo/stepMetrics.ts';

const objective = { ...defaultObjective, epsilonHigh: 0.28 };

describe('update metrics', () => {
	const row = (ratios: number[], advantage: number, masked = false) => ({
		masked,
		advantage,
		logprobs: ratios.map(Math.log),
		oldLogprobs: ratios.map(() => 0),
		refLogprobs: ratios.map((ratio) => Math.log(ratio)),
		entropies: ratios.map(() => 0.5),
	});

	it('count clipped tokens over the update and per completion', () => {
		const metrics = updateMetrics([row([0.5, 1, 1, 1], -1), row([1.5, 1.5], 1), row([9, 9, 9], 1, true)], {
			...objective,
			beta: 0,
		});
		assert.deepEqual(metrics, {
			entropy: 0.5,
			'clip_ratio/low_mean': 1 / 6,
			'clip_ratio/low_min': 0,
			'clip_ratio/high_mean': 2 / 6,
			'clip_ratio/high_max': 1,
			'clip_ratio/region_mean': 3 / 6,
		});
	});

	it('are null without valid samples, and include kl only with a KL term', () => {
		const empty = updateMetrics([row([1], 1, true)], { ...objective, beta: 0.1 });
		assert.ok(Object.values(empty).every((value) => value === null));
		assert.ok('kl' in empty);
		assert.equal(updateMetrics([row([1.2], 1)], { ...objective, beta: 0.1 }).kl, 0);
	});
});
