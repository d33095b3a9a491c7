import type { ObjectiveRow, RatioLevel } from './objective.ts';

/**
 * Returns the log importance ratio of each token, log(policy / old policy):
 * - `token`: the ratio of the token itself
 * - `sequence`: mean over the completion, so the ratio is the geometric mean of the token ratios. GSPO (Zheng et al.
 *   2025, arXiv:2507.18071), equation 7
 * - `sequence_token`: the same value, but each token's gradient comes only from its own log-probability. GSPO-token,
 *   equation 14
 */
export function logRatios({ logprobs, oldLogprobs }: ObjectiveRow, level: RatioLevel): Float64Array {
	const ratios = Float64Array.from(logprobs, (logprob, t) =>
		oldLogprobs === null ? 0 : logprob - (oldLogprobs[t] as number),
	);
	return level === 'token' ? ratios : ratios.fill(mean(ratios));
}

/**
 * Converts the derivatives of a row's loss with respect to each token's log ratio into derivatives with respect to each
 * token's log-probability.
 */
export function throughRatios(slopes: Float64Array, level: RatioLevel): Float64Array {
	return level === 'sequence' ? new Float64Array(slopes.length).fill(mean(slopes)) : slopes;
}

function mean(values: Float64Array): number {
	let sum = 0;
	for (const value of values) sum += value;
	return sum / Math.max(1, values.length);
}
