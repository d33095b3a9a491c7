import { Random } from '../../../base/random.ts';
import { afterUpdate, bonusWeight } from '../../../core/grpo/entropyBonus.ts';
import { countTokens } from '../../../core/grpo/lossWeights.ts';
import { clipCovDefaults } from '../../../core/grpo/tokenSelection/clipCov.ts';
import { klCovCoefficient } from '../../../core/grpo/tokenSelection/klCov.ts';
import {
	type KlCovSettings,
	type SelectionRow,
	type TokenSelection,
	tokenFactors,
	tokenPenalties,
} from '../../../core/grpo/tokenSelection/tokenFactors.ts';
import type { ResolvedGrpoStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { GrpoRow, PerToken } from '../learner.ts';
import { adaptiveOf } from './entropyBonusOf.ts';
import { objectiveOf } from './objectiveOf.ts';
import type { StageHost } from './stageHost.ts';
import { ofTrained, overAll } from './trainedTokens.ts';
import type { Part, TrainingRow } from './trainingRow.ts';

/** Loss terms that apply to only some tokens. */
export interface TokenTerms {
	/** Additional inputs for a row. */
	of(row: TrainingRow): Pick<GrpoRow, 'factors' | 'entropyWeights' | 'penalties'>;
	/** Weight of the entropy bonus; null if there is none. */
	readonly bonus: number | null;
	/** Updates the entropy bonus with the entropies of the update, one list per row of the part. */
	adapt(entropies: readonly PerToken[]): void;
	/**
	 * Fraction of the update's tokens that the surrogate loss covers; null if it covers all of them, or if there are
	 * none.
	 */
	readonly share: number | null;
}

const selectionOf = (stage: ResolvedGrpoStage): TokenSelection => ({
	topEntropy: stage.top_entropy_quantile ?? null,
	clipCov:
		stage.clip_cov_ratio === undefined
			? null
			: {
					ratio: stage.clip_cov_ratio,
					lowest: stage.clip_cov_lb ?? clipCovDefaults.lowest,
					highest: stage.clip_cov_ub ?? clipCovDefaults.highest,
				},
});

/** @param update 0-based index of the update within its batch */
export async function tokenTerms(
	host: StageHost,
	stage: ResolvedGrpoStage,
	{ rows }: Part,
	update: number,
): Promise<TokenTerms> {
	const selection = selectionOf(stage);
	const selects = selection.topEntropy !== null || selection.clipCov !== null;
	const penalty: KlCovSettings | null =
		stage.kl_cov_ratio === undefined
			? null
			: { share: stage.kl_cov_ratio, coefficient: stage.kl_cov_coef ?? klCovCoefficient };
	const adaptive = adaptiveOf(stage);
	const state = host.progress.entropyBonus ?? { coefficient: stage.entropy_coef ?? 0, entropy: null };
	const bonus = bonusWeight(state, adaptive);
	const current = selects || penalty !== null ? await selectionRows(host, stage, rows, update) : [];
	const factors = selects ? mapped(rows, factorsOf(host, stage, selection, current, update)) : null;
	// Before the first update, all ratios are 1.
	const penalties = penalty === null || update === 0 ? null : mapped(rows, tokenPenalties(current, penalty));
	const tokens = countTokens(rows);
	const selected =
		factors === null ? tokens : [...factors.values()].reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0), 0);
	const counted = (row: TrainingRow): PerToken =>
		factors?.get(row) ?? new Float32Array(row.length).fill(row.masked ? 0 : 1);
	return {
		share: factors === null || tokens === 0 ? null : selected / tokens,
		bonus: adaptive === null && bonus === 0 ? null : bonus,
		adapt: (entropies) => {
			if (adaptive === null || selected === 0) return;
			let sum = 0;
			for (const [i, row] of rows.entries()) {
				const own = ofTrained(entropies[i] as PerToken, row.rollout.sample.trained);
				for (const [t, one] of counted(row).entries()) sum += one * (own[t] as number);
			}
			host.progress.entropyBonus = afterUpdate(state, sum / selected, adaptive);
		},
		of: (row) => {
			const all = (values: PerToken) => overAll(values, row.rollout.sample.trained);
			return {
				...(factors === null ? {} : { factors: all(counted(row)) }),
				...(penalties === null ? {} : { penalties: all(penalties.get(row) as PerToken) }),
				// The mean entropy of the selected tokens, as in TRL.
				...(bonus === 0
					? {}
					: { entropyWeights: all(counted(row).map((one) => (one * bonus) / Math.max(1, selected))) }),
			};
		},
	};
}

const mapped = (rows: readonly TrainingRow[], values: readonly PerToken[]): ReadonlyMap<TrainingRow, PerToken> =>
	new Map(rows.map((row, i) => [row, values[i] as PerToken]));

const factorsOf = (
	{ parts, progress }: StageHost,
	stage: ResolvedGrpoStage,
	selection: TokenSelection,
	rows: readonly SelectionRow[],
	update: number,
): PerToken[] =>
	tokenFactors(
		rows,
		selection,
		objectiveOf(stage),
		Random.of(parts.recipe.seed, 'clip-cov', progress.generations, update),
	);

/** Returns each row's policy-generated tokens, with log-probabilities under the current policy if needed. */
async function selectionRows(
	{ parts, watch }: StageHost,
	stage: ResolvedGrpoStage,
	rows: readonly TrainingRow[],
	update: number,
): Promise<SelectionRow[]> {
	const samples = rows.map(({ rollout }) => rollout.sample);
	// Before the first update, the policy is unchanged. Entropies are always those recorded while sampling.
	const sampled = update === 0 || (stage.clip_cov_ratio === undefined && stage.kl_cov_ratio === undefined);
	const logprobs = sampled
		? samples.map((sample) => sample.logprobs)
		: await watch.measure('logprobs', () => parts.learner.logprobs(samples, 'policy', stage.temperature));
	return rows.map(({ masked, advantage, oldLogprobs, rollout }, i) => {
		const { entropies, trained } = rollout.sample;
		return {
			masked,
			advantage,
			oldLogprobs: oldLogprobs && ofTrained(oldLogprobs, trained),
			entropies: ofTrained(entropies, trained),
			logprobs: ofTrained(logprobs[i] as PerToken, trained),
		};
	});
}
