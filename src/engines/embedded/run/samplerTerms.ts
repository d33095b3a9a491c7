import { isPerCompletion } from '../../../core/grpo/objective/samplerCorrection.ts';
import { samplerRow } from '../../../core/grpo/objective/samplerRow.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { GrpoRow, PerToken } from '../learner.ts';
import { objectiveOf } from './objectiveOf.ts';
import type { StageHost } from './stageHost.ts';
import { ofTrained, overAll } from './trainedTokens.ts';
import type { TrainingRow } from './trainingRow.ts';

/**
 * Prepares a batch's correction for differences from the sampling policy, if the stage has one. Log-probabilities of
 * the current policy come from the training graph, so that rounding in the sampler counts as part of the difference, as
 * in TRL.
 */
export async function prepareSampler(
	host: StageHost,
	stage: ResolvedGrpoStage,
	rows: readonly TrainingRow[],
): Promise<void> {
	const objective = objectiveOf(stage);
	if (objective.samplerCorrection === null) return;
	const samples = rows.map(({ rollout }) => rollout.sample);
	const logprobs = await host.watch.measure('logprobs', () =>
		host.parts.learner.logprobs(samples, 'policy', stage.temperature),
	);
	for (const [i, row] of rows.entries()) {
		const { trained, logprobs: samplerLogprobs } = row.rollout.sample;
		const oldLogprobs = ofTrained(logprobs[i] as PerToken, trained);
		row.sampler = samplerRow({ oldLogprobs, samplerLogprobs: ofTrained(samplerLogprobs, trained) }, objective);
	}
}

/**
 * Returns the update inputs for a row, including its sampler correction.
 * @param selected factors of the surrogate loss for all completion tokens; absent if all are 1
 */
export function samplerInputs(
	{ sampler = {}, rollout, advantage: ofRow, tokenAdvantages }: TrainingRow,
	stage: ResolvedGrpoStage,
	selected: PerToken | undefined,
): Pick<GrpoRow, 'advantage' | 'factors' | 'samplerLogRatio' | 'samplerDrift'> {
	const own = tokenAdvantages && overAll(tokenAdvantages, rollout.sample.trained);
	const advantage = own ? 1 : ofRow;
	const factors = own && selected ? product(own, selected) : (own ?? selected);
	const { samplerRatios, samplerLogRatio, samplerDrift } = sampler;
	const known = {
		...(samplerLogRatio === undefined ? {} : { samplerLogRatio }),
		...(samplerDrift === undefined ? {} : { samplerDrift }),
	};
	if (samplerRatios === undefined) return { advantage, ...(factors ? { factors } : {}), ...known };
	// One loss per completion.
	if (stage.loss_type === 'gmpo') return { advantage: advantage * (samplerRatios[0] ?? 1), ...known };
	const ratios = overAll(Float32Array.from(samplerRatios), rollout.sample.trained);
	return { advantage, factors: factors ? product(ratios, factors) : ratios, ...known };
}

const product = (a: PerToken, b: PerToken): PerToken => a.map((value, t) => value * (b[t] as number));

/** Returns statistics of the ratios that scale a batch's losses, under TRL's metric names. */
export function samplerMetrics(stage: ResolvedGrpoStage, rows: readonly TrainingRow[]): Metrics {
	const correction = objectiveOf(stage).samplerCorrection;
	if (correction === null || stage.loss_type === 'vespo') return {};
	const values = rows.flatMap(({ masked, sampler }) => {
		const ratios = sampler?.samplerRatios;
		if (masked || ratios === undefined) return [];
		return isPerCompletion(correction) ? Array.from(ratios).slice(0, 1) : Array.from(ratios);
	});
	const none = values.length === 0;
	const name = (part: string) => `sampling/importance_sampling_ratio/${part}`;
	return {
		[name('min')]: none ? null : values.reduce((a, b) => Math.min(a, b)),
		[name('mean')]: none ? null : values.reduce((a, b) => a + b, 0) / values.length,
		[name('max')]: none ? null : values.reduce((a, b) => Math.max(a, b)),
	};
}
