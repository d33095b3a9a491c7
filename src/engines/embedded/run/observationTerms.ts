import { observationSurprise, observationWeights } from '../../../core/grpo/observationLoss.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { GrpoRow, PerToken } from '../learner.ts';
import type { Rollout } from './rollout.ts';

/** A row of an update. */
interface RolloutRow {
	readonly rollout: Rollout;
}

/** Returns whether a stage's loss includes the environment's answers in a row. Excludes failed episodes. */
export const learnsObservations = (
	{ world_model_coeff: coefficient = 0 }: ResolvedGrpoStage,
	{ rollout }: RolloutRow,
): boolean => coefficient > 0 && rollout.episode?.error === undefined && rollout.sample.trained?.includes(0) === true;

/** ECHO's loss in one update. */
export interface ObservationTerms<Row> {
	/** Additional inputs for a row. */
	of(row: Row): Pick<GrpoRow, 'observationWeights'>;
	/** @param logprobs log-probabilities of all completion tokens of a row under the policy before the update */
	metrics(logprobs: (row: Row) => PerToken): Metrics;
}

/** @param rows all rows of the update */
export function observationTerms<Row extends RolloutRow>(
	stage: ResolvedGrpoStage,
	rows: readonly Row[],
): ObservationTerms<Row> {
	const { world_model_coeff: coefficient = 0 } = stage;
	if (coefficient === 0) return { of: () => ({}), metrics: () => ({}) };
	const learned = rows.filter((row) => learnsObservations(stage, row));
	const observed = learned.map(({ rollout }) => ({
		observed: (rollout.sample.trained as Uint8Array).map((one) => 1 - one),
	}));
	const weights = observationWeights(observed, coefficient);
	const byRow = new Map(learned.map((row, i) => [row, weights[i] as PerToken]));
	return {
		of: (row) => {
			const { tokens, promptLength } = row.rollout.sample;
			return { observationWeights: byRow.get(row) ?? new Float32Array(tokens.length - promptLength) };
		},
		metrics: (logprobs) => ({
			'world_model/loss': observationSurprise(
				learned.map((row, i) => ({ ...(observed[i] as (typeof observed)[number]), logprobs: logprobs(row) })),
			),
		}),
	};
}
