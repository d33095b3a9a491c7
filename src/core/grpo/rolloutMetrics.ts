import { mean, sampleStd } from './advantages.ts';
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

/**
 * Metrics of a generation batch by TRL 1.13's names and definitions (`_generate_and_score_completions`): `reward`,
 * `reward_std` (sample deviation over the whole batch), `rewards/<name>/mean|std`, `frac_reward_zero_std` (share of dead
 * groups) and completion lengths in tokens. Two differences: `frac_reward_zero_std` looks at groups also when
 * `scale_rewards` is batch (TRL then looks at the batch), and lengths of ended completions are null when there are none
 * (TRL: 0).
 *
 * @param rewardNames every reward of the recipe, so that one that never applied shows as null
 * @param dead one per group, from `computeAdvantages`
 */
export function rolloutMetrics(
	rollouts: readonly ScoredRollout[],
	rewardNames: readonly string[],
	dead: readonly boolean[],
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
	metrics.frac_reward_zero_std = metricValue(dead.filter((isDead) => isDead).length / dead.length);
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
