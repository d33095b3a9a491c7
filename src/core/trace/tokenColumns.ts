import { klEstimate } from '../grpo/kl.ts';

/** Token columns of a rollout, as in rolloutLine.ts; null for values that were not recorded. */
export interface TokenValues {
	readonly logprob: readonly (number | null)[];
	readonly oldLogprob?: readonly (number | null)[] | null | undefined;
	readonly refLogprob?: readonly (number | null)[] | null | undefined;
}

type Column = readonly (number | null)[];

function combine(a: Column, b: Column, of: (a: number, b: number) => number): (number | null)[] {
	return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
		const [x, y] = [a[i] ?? null, b[i] ?? null];
		if (x === null || y === null) return null;
		const value = of(x, y);
		return Number.isFinite(value) ? value : null;
	});
}

/**
 * Returns exp(oldLogprob - logprob) per token, the ratio of trainer to sampler probability, which would be 1 if both
 * computed identically. (The importance ratio in the loss applies to later updates in the batch and is not recorded.)
 * null if `oldLogprob` was not recorded.
 */
export function tokenRatios({ logprob, oldLogprob }: TokenValues): (number | null)[] | null {
	return oldLogprob ? combine(logprob, oldLogprob, (sampler, trainer) => Math.exp(trainer - sampler)) : null;
}

/**
 * Returns the k3 estimate of KL(policy || reference) per token, in nats: r - 1 - log r with r = reference / policy
 * (Schulman 2020; equation 4 in DeepSeekMath). Uses the trainer's policy log-probabilities if recorded, otherwise the
 * sampler's. null if `refLogprob` was not recorded.
 */
export function tokenKl({ logprob, oldLogprob, refLogprob }: TokenValues): (number | null)[] | null {
	if (!refLogprob) return null;
	const policy = logprob.map((value, i) => oldLogprob?.[i] ?? value);
	return combine(policy, refLogprob, (own, reference) => klEstimate('k3', own, reference));
}
