import { mean, type ScaleRewards, sampleStd } from './advantages.ts';
import { type Metrics, metricValue } from './stepMetrics.ts';

/** One completion of a generation batch. */
export interface ScoredRollout {
	/** By reward name; null: does not apply or failed. */
	readonly rewards: Readonly<Record<string, number | null>>;
	/** The weighted sum; null: no reward applied. */
	readonly reward: number | null;
	/** Completion tokens, end-of-sequence included. */
	readonly length: number;
	readonly truncated: boolean;
}

function lengths(name: string, values: readonly number[]): Metrics {
	// TRL reports 0 where no completion terminated; "no valid sample" is null here, as everywhere.
	return {
		[`completions/mean_${name}`]: metricValue(mean(values)),
		[`completions/min_${name}`]: metricValue(values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)),
		[`completions/max_${name}`]: metricValue(values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)),
	};
}

export interface RewardGroups {
	/** One per group, from `computeAdvantages`. */
	readonly dead: readonly boolean[];
	/** Rollouts of a group; they lie together. */
	readonly size: number;
	readonly scale: ScaleRewards;
}

/**
 * TRL's `frac_reward_zero_std`: the share of rewards whose deviation is 0. With `scale_rewards` "batch" the deviation is that
 * of the whole batch, so it is 0 or 1; else that of the group. A deviation over fewer than two rewards is NaN, which is not
 * 0, except in groups of one.
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
 * Metrics of a generation batch by TRL 1.13's names and definitions (`_generate_and_score_completions`): `reward`,
 * `reward_std` (sample deviation over the whole batch), `rewards/<name>/mean|std`, `frac_reward_zero_std` and completion
 * lengths in tokens. One difference: lengths of ended completions are null when there are none (TRL: 0). `groups/dead`, the
 * share of groups without a gradient whatever rewards are scaled by, is ours.
 *
 * @param rewardNames every reward of the recipe, so that one that never applied shows as null
 * @param groups null: the batch has no groups whose rewards are compared
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
