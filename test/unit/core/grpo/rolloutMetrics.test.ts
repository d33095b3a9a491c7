import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rolloutMetrics } from '../../../../src/core/grpo/rolloutMetrics.ts';
import { combineRewards } from '../../../../src/core/reward/combineRewards.ts';

describe('generation batch metrics', () => {
	it('are means and sample standard deviations over applicable values', () => {
		const rollout = (accuracy: number | null, format: number | null, length: number, truncated = false) => ({
			rewards: { accuracy, format },
			reward: combineRewards([accuracy, format], [1, 0.5]),
			length,
			truncated,
		});
		const metrics = rolloutMetrics(
			[rollout(1, 1, 4), rollout(0, 1, 6), rollout(null, 0, 8, true), rollout(null, null, 10, true)],
			['accuracy', 'format', 'unused'],
			{ dead: [false, true], size: 2, scale: 'group' },
		);
		// Rewards 1.5, 0.5, 0, none: mean 2/3, squares 25/36 + 1/36 + 16/36 = 42/36, over 2.
		assert.ok(Math.abs((metrics.reward ?? 0) - 2 / 3) < 1e-12);
		assert.ok(Math.abs((metrics.reward_std ?? 0) - Math.sqrt(42 / 72)) < 1e-12);
		assert.equal(metrics['rewards/accuracy/mean'], 0.5);
		assert.equal(metrics['rewards/format/mean'], 2 / 3);
		assert.equal(metrics['rewards/unused/mean'], null);
		assert.equal(metrics['rewards/unused/std'], null);
		assert.equal(metrics['groups/dead'], 0.5);
		// The second group has a single reward, so its standard deviation is unknown rather than 0.
		assert.equal(metrics.frac_reward_zero_std, 0);
		assert.deepEqual(
			[
				'mean_length',
				'min_length',
				'max_length',
				'clipped_ratio',
				'mean_terminated_length',
				'min_terminated_length',
				'max_terminated_length',
			].map((name) => metrics[`completions/${name}`]),
			[7, 4, 10, 0.5, 5, 4, 6],
		);
	});

	it('are null rather than NaN without valid values', () => {
		const metrics = rolloutMetrics([{ rewards: {}, reward: null, length: 3, truncated: true }], ['accuracy'], {
			dead: [true],
			size: 1,
			scale: 'group',
		});
		assert.equal(metrics.reward, null);
		assert.equal(metrics['completions/mean_terminated_length'], null);
		for (const value of Object.values(metrics)) assert.ok(value === null || Number.isFinite(value));
	});

	it('define frac_reward_zero_std like TRL: with scale_rewards "batch", it refers to the batch', () => {
		const rows = [1, 1, 0, 0].map((reward) => ({ rewards: {}, reward, length: 1, truncated: false }));
		const dead = [true, true];
		const share = (scale: 'batch' | 'group', list = rows) => {
			const metrics = rolloutMetrics(list, [], { dead, size: 2, scale });
			return [metrics.frac_reward_zero_std, metrics['groups/dead']];
		};
		assert.deepEqual(share('group'), [1, 1]);
		assert.deepEqual(share('batch'), [0, 1]);
		assert.deepEqual(share('batch', [...rows.slice(0, 2), ...rows.slice(0, 2)]), [1, 1]);
		assert.ok(!('frac_reward_zero_std' in rolloutMetrics(rows, [], null)), 'it is absent without groups');
	});

	it('combine rewards like TRL', () => {
		assert.equal(combineRewards([1, null, 0.5], [1, 10, 2]), 2);
		assert.equal(combineRewards([null, null], [1, 1]), null);
		assert.equal(combineRewards([0], [1]), 0);
		assert.throws(() => combineRewards([1], []), RangeError);
	});
});
