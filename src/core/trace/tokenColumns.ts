import { klEstimate } from '../grpo/kl.ts';

/** Columns of a rollout's tokens, as rolloutLine.ts has them; null where a value was not recorded. */
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
 * exp(oldLogprob - logprob) of each token: the probability that the trainer gives it over the sampler's, which would be 1
 * if both computed alike. (The ratio of the loss is over later updates of the batch and is not recorded.) null: no column
 * `oldLogprob` was recorded.
 */
export function tokenRatios({ logprob, oldLogprob }: TokenValues): (number | null)[] | null {
	return oldLogprob ? combine(logprob, oldLogprob, (sampler, trainer) => Math.exp(trainer - sampler)) : null;
}

/**
 * The k3 estimate of KL(policy || reference) of each token in nats, r - 1 - log r with r = reference / policy (Schulman
 * 2020; equation 4 of DeepSeekMath), with the trainer's log-probabilities of the policy where they were recorded, else the
 * sampler's. null: no column `refLogprob` was recorded.
 */
export function tokenKl({ logprob, oldLogprob, refLogprob }: TokenValues): (number | null)[] | null {
	if (!refLogprob) return null;
	const policy = logprob.map((value, i) => oldLogprob?.[i] ?? value);
	return combine(policy, refLogprob, (own, reference) => klEstimate('k3', own, reference));
}
