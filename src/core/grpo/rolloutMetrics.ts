import { mean, type ScaleRewards, sampleStd } from './advantages/groupAdvantages.ts';
import { type Metrics, metricValue } from './stepMetrics.ts';

/** A completion from a generation batch. */
export interface ScoredRollout {
	/** Rewards by name, or null for rewards that do not apply or failed. */
	readonly rewards: Readonly<Record<string, number | null>>;
	/** Weighted sum of the rewards, or null if none applied. */
	readonly reward: number | null;
	/** Number of completion tokens, including end-of-sequence. */
	readonly length: number;
	readonly truncated: boolean;
}

function lengths(name: string, values: readonly number[]): Metrics {
	// TRL reports 0 if no completion finished; we use null, which always means that there is no valid sample.
	return {
		[`completions/mean_${name}`]: metricValue(mean(values)),
		[`completions/min_${name}`]: metricValue(values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)),
		[`completions/max_${name}`]: metricValue(values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)),
	};
}

export interface RewardGroups {
	/** One flag per group, from `computeAdvantages`. */
	readonly dead: readonly boolean[];
	/** Number of rollouts per group. The rollouts of each group are contiguous. */
	readonly size: number;
	readonly scale: ScaleRewards;
}

/**
 * Computes TRL's `frac_reward_zero_std`: the fraction of rewards whose standard deviation is 0. With `scale_rewards`
 * "batch", the standard deviation is computed over the entire batch, so the result is 0 or 1. Otherwise, it is computed
 * over the group. For fewer than two rewards, it is NaN and does not count as 0, except in groups of one.
 */
function zeroStdShare(rewards: readonly number[], { size, scale }: RewardGroups): number {
	const per = scale === 'batch' ? rewards.length : size;
	const zeros: number[] = [];
	for (let from = 0; from < rewards.length; from += per) {
		const all = rewards.slice(from, from + per);
		const known = all.filter((reward) => !Number.isNaN(reward));
		const same = known.length > 1 && known.every((reward) => reward === known[0]);
		zeros.push(Number(all.length === 1 || same));
	}
	return mean(zeros);
}

/**
 * Computes the metrics of a generation batch, with TRL 1.13's names and definitions
 * (`_generate_and_score_completions`): `reward`, `reward_std` (sample standard deviation over the entire batch),
 * `rewards/<name>/mean|std`, `frac_reward_zero_std`, and completion lengths in tokens. One difference: lengths of
 * finished completions are null if there are none (TRL: 0). `groups/dead`, the fraction of groups without a gradient
 * regardless of reward scaling, is our own metric.
 * @param rewardNames all rewards in the recipe, so that rewards that never applied are reported as null
 * @param groups null if the batch has no groups
 */
export function rolloutMetrics(
	rollouts: readonly ScoredRollout[],
	rewardNames: readonly string[],
	groups: RewardGroups | null,
): Metrics {
	const metrics: Metrics = {};
	const rewards = rollouts.map((rollout) => rollout.reward ?? Number.NaN);
	metrics.reward = metricValue(mean(rewards));
	metrics.reward_std = metricValue(sampleStd(rewards));
	for (const name of rewardNames) {
		const values = rollouts.map((rollout) => rollout.rewards[name] ?? Number.NaN);
		metrics[`rewards/${name}/mean`] = metricValue(mean(values));
		metrics[`rewards/${name}/std`] = metricValue(sampleStd(values));
	}
	if (groups !== null) {
		const { dead } = groups;
		metrics.frac_reward_zero_std = metricValue(zeroStdShare(rewards, groups));
		metrics['groups/dead'] = metricValue(dead.filter((isDead) => isDead).length / dead.length);
	}
	Object.assign(
		metrics,
		lengths(
			'length',
			rollouts.map((rollout) => rollout.length),
		),
	);
	metrics['completions/clipped_ratio'] = metricValue(mean(rollouts.map((rollout) => (rollout.truncated ? 1 : 0))));
	const terminated = rollouts.filter((rollout) => !rollout.truncated).map((rollout) => rollout.length);
	return Object.assign(metrics, lengths('terminated_length', terminated));
}
