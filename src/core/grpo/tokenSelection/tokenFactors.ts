import type { Random } from '../../../base/random.ts';
import { clipSide } from '../objective/clipped.ts';
import { logRatios } from '../objective/importanceRatio.ts';
import type { Objective } from '../objective/objective.ts';
import { type ClipCovSettings, clippedByCovariance } from './clipCov.ts';
import { mostCovariant } from './klCov.ts';
import { entropyThreshold } from './topEntropy.ts';

/** Tokens for which the surrogate loss is computed; null for all. */
export interface TokenSelection {
	/** Fraction of tokens to select: those with the highest entropy. */
	readonly topEntropy: number | null;
	readonly clipCov: ClipCovSettings | null;
}

/** Fraction of tokens penalized for diverging from the old policy, and the penalty's coefficient. */
export interface KlCovSettings {
	readonly share: number;
	readonly coefficient: number;
}

/** A completion in an update. Arrays have one entry per token. */
export interface SelectionRow {
	readonly masked: boolean;
	readonly advantage: number;
	/** Entropies of the distributions from which the tokens were sampled, in nats. */
	readonly entropies: ArrayLike<number>;
	/** Log-probabilities under the current policy. */
	readonly logprobs: ArrayLike<number>;
	/** See `ObjectiveRow`. */
	readonly oldLogprobs: ArrayLike<number> | null;
}

/**
 * Returns a factor for the surrogate loss of each token in each row: 1, or 0 if the token is not selected. The KL term
 * applies to all tokens, as in TRL.
 */
export function tokenFactors(
	rows: readonly SelectionRow[],
	{ topEntropy, clipCov }: TokenSelection,
	objective: Pick<Objective, 'level' | 'epsilonLow' | 'epsilonHigh'>,
	random: Random,
): Float32Array[] {
	const factors = rows.map(({ entropies, masked }) => new Float32Array(entropies.length).fill(masked ? 0 : 1));
	const places = placesOf(rows);
	if (places.length === 0) return factors;
	const exclude = ([r, t]: Place) => {
		(factors[r] as Float32Array)[t] = 0;
	};
	if (topEntropy !== null) {
		const entropyAt = ([r, t]: Place) => (rows[r] as SelectionRow).entropies[t] as number;
		const threshold = entropyThreshold(Float64Array.from(places, entropyAt), topEntropy);
		for (const place of places) if (entropyAt(place) < threshold) exclude(place);
	}
	if (clipCov !== null) {
		const ratios = rows.map((row) => logRatios({ ...row, refLogprobs: null }, objective.level));
		const tokens = places.map(([r, t]) => {
			const { advantage, logprobs } = rows[r] as SelectionRow;
			const clipped = clipSide(ratios[r]?.[t] as number, advantage, objective) !== null;
			return { advantage, logprob: logprobs[t] as number, clipped };
		});
		for (const i of clippedByCovariance(tokens, clipCov, random)) exclude(places[i] as (typeof places)[number]);
	}
	return factors;
}

/** Returns the coefficient of |log ratio| in the loss of each token in each row. Most are 0. */
export function tokenPenalties(
	rows: readonly Omit<SelectionRow, 'oldLogprobs'>[],
	{ share, coefficient }: KlCovSettings,
): Float32Array[] {
	const penalties = rows.map(({ entropies }) => new Float32Array(entropies.length));
	const places = placesOf(rows);
	if (places.length === 0) return penalties;
	const tokens = places.map(([r, t]) => {
		const { advantage, logprobs } = rows[r] as SelectionRow;
		return { advantage, logprob: logprobs[t] as number };
	});
	for (const i of mostCovariant(tokens, share)) {
		const [r, t] = places[i] as Place;
		(penalties[r] as Float32Array)[t] = coefficient;
	}
	return penalties;
}

type Place = readonly [row: number, token: number];

/** Returns the positions of all tokens in unmasked rows. */
const placesOf = (rows: readonly Pick<SelectionRow, 'masked' | 'entropies'>[]): Place[] =>
	rows.flatMap(({ entropies, masked }, r) => (masked ? [] : Array.from(entropies, (_, t): Place => [r, t])));
