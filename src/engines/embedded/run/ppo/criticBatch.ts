import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import {
	estimateAdvantages,
	explainedVariance,
	tokenRewards,
	whiten,
} from '../../../../core/ppo/advantageEstimation.ts';
import type { ResolvedPpoStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { PerToken, ScoredBy } from '../../learner.ts';
import type { GenerationBatch } from '../generationBatch.ts';
import type { Rollout } from '../rollout.ts';
import type { StageHost } from '../stageHost.ts';

/** A completion with its values and advantages. */
export interface EstimatedRow {
	readonly rollout: Rollout;
	/** Number of completion tokens. */
	readonly length: number;
	/** One entry per completion token. */
	readonly advantages: Float64Array;
	readonly returns: Float64Array;
	/** Critic value before each completion token. */
	readonly values: PerToken;
	/**
	 * Log-probabilities under the sampling policy, computed by the training graph. null if the batch has a single update
	 * and no reference.
	 */
	readonly oldLogprobs: PerToken | null;
	readonly refLogprobs: PerToken | null;
}

export interface EstimatedBatch {
	/** One entry per rollout, or null if no reward applied to it; such rollouts are not trained on. */
	readonly rows: readonly (EstimatedRow | null)[];
	readonly metrics: Metrics;
}

const mean = (list: readonly number[]) => metricValue(list.reduce((a, b) => a + b, 0) / list.length);

/**
 * Computes values, token rewards, advantages and returns for a batch.
 * @param keepsOld whether the updates need log-probabilities under the sampling policy
 */
export async function estimateBatch(
	host: StageHost,
	stage: ResolvedPpoStage,
	batch: GenerationBatch,
	keepsOld: boolean,
): Promise<EstimatedBatch> {
	const { learner } = host.parts;
	const samples = batch.rollouts.map(({ sample }) => sample);
	const logprobsOf = (which: ScoredBy) =>
		host.watch.measure('logprobs', () => learner.logprobs(samples, which, stage.temperature));
	const penalizes = stage.kl_coef > 0;
	const old = keepsOld || penalizes ? await logprobsOf('policy') : null;
	const reference = penalizes ? await logprobsOf('reference') : null;
	// The sampler's log-probabilities are precise enough here: the critic only reads them as surprisals.
	const values = await host.watch.measure('logprobs', () =>
		learner.values(
			samples,
			'critic',
			samples.map(({ logprobs }) => logprobs),
		),
	);
	const penalties: number[] = [];
	let tokens = 0;
	const estimates = batch.rollouts.map(({ reward, sample }, i) => {
		if (reward === null) return null;
		const ref = reference === null ? null : (reference[i] as PerToken);
		const rewards = tokenRewards(reward, old?.[i] ?? sample.logprobs, ref, stage.kl_coef);
		tokens += rewards.length;
		penalties.push(rewards.reduce((sum, r) => sum + r, 0) - reward);
		// The last value is the one after the final token, where there is no further reward.
		const own = (values[i] as PerToken).subarray(0, rewards.length);
		return { values: own, ...estimateAdvantages(rewards, own, stage) };
	});
	const valid = estimates.filter((estimate) => estimate !== null);
	const raw = valid.map(({ advantages }) => advantages);
	const advantages = stage.whiten_advantages ? whiten(raw) : raw;
	const place = new Map(valid.map((estimate, i) => [estimate, i]));
	const rows = batch.rollouts.map((rollout, i): EstimatedRow | null => {
		const estimate = estimates[i] ?? null;
		if (estimate === null) return null;
		return {
			rollout,
			length: rollout.sample.tokens.length - rollout.sample.promptLength,
			advantages: advantages[place.get(estimate) as number] as Float64Array,
			returns: estimate.returns,
			values: estimate.values,
			oldLogprobs: old?.[i] ?? null,
			refLogprobs: reference?.[i] ?? null,
		};
	});
	const allValues = valid.flatMap((estimate) => [...estimate.values]);
	const allReturns = valid.flatMap((estimate) => [...estimate.returns]);
	const penalty = penalties.reduce((a, b) => a + b, 0);
	return {
		rows,
		metrics: {
			'critic/value_mean': mean(allValues),
			'critic/return_mean': mean(allReturns),
			'critic/explained_variance': metricValue(explainedVariance(allValues, allReturns)),
			...(penalizes
				? {
						kl: metricValue(-penalty / stage.kl_coef / tokens),
						'objective/rlhf_reward': metricValue(
							(batch.rollouts.reduce((sum, { reward }) => sum + (reward ?? 0), 0) + penalty) / penalties.length,
						),
					}
				: {}),
		},
	};
}
