import { distributionStatistics } from '../../../core/search/distribution.ts';
import type { SampleResult } from './jobs.ts';
import type { TokenChooser } from './tokenChooser.ts';

/** Number of spread fields: varentropy, Gini coefficient, variance and self-certainty. */
export const spreadFields = 4;

/** Recorded data for the tokens in one completion. */
export class TokenRecord {
	readonly tokens: number[] = [];
	readonly logprobs: number[] = [];
	readonly entropies: number[] = [];
	/** Values of each token. See {@link spreadFields}. */
	readonly spreads: number[] = [];
	readonly topTokens: number[] = [];
	readonly topLogprobs: number[] = [];
	truncated = false;

	/** @param alternatives number of alternatives, or null to record only the token itself */
	add(chooser: TokenChooser, alternatives: number | null): void {
		this.tokens.push(chooser.token);
		this.logprobs.push(chooser.logprob);
		this.entropies.push(chooser.entropy);
		if (alternatives === null) return;
		const { varentropy, gini, variance } = distributionStatistics(chooser.weights);
		this.spreads.push(varentropy, gini, variance, chooser.selfCertainty);
		for (const token of mostLikely(chooser.weights, alternatives)) {
			this.topTokens.push(token);
			this.topLogprobs.push(chooser.logprobOf(token));
		}
	}
}

/**
 * Returns the indexes of the `count` largest weights in descending order, with ties broken by index. Padded with -1.
 */
export function mostLikely(weights: Float64Array, count: number): number[] {
	const top: number[] = [];
	if (count === 0) return top;
	for (let v = 0; v < weights.length; v++) {
		const weight = weights[v] as number;
		if (top.length === count && weight <= (weights[top[count - 1] as number] as number)) continue;
		let at = top.length;
		while (at > 0 && (weights[top[at - 1] as number] as number) < weight) at--;
		top.splice(at, 0, v);
		if (top.length > count) top.pop();
	}
	while (top.length < count) top.push(-1);
	return top;
}

/** Returns the completions of a micro-batch, concatenated. @param alternatives see `TokenRecord.add` */
export function resultOf(all: readonly TokenRecord[], alternatives: number | null): SampleResult {
	const total = all.reduce((n, c) => n + c.tokens.length, 0);
	const tokens = new Int32Array(total);
	const logprobs = new Float32Array(total);
	const entropies = new Float32Array(total);
	const tops = alternatives ?? 0;
	const spreads = new Float32Array(alternatives === null ? 0 : total * spreadFields);
	const topTokens = new Int32Array(total * tops);
	const topLogprobs = new Float32Array(total * tops);
	let offset = 0;
	for (const completion of all) {
		tokens.set(completion.tokens, offset);
		logprobs.set(completion.logprobs, offset);
		entropies.set(completion.entropies, offset);
		if (alternatives !== null) {
			spreads.set(completion.spreads, offset * spreadFields);
			topTokens.set(completion.topTokens, offset * tops);
			topLogprobs.set(completion.topLogprobs, offset * tops);
		}
		offset += completion.tokens.length;
	}
	return {
		lengths: Int32Array.from(all, (c) => c.tokens.length),
		tokens,
		logprobs,
		entropies,
		truncated: Uint8Array.from(all, (c) => (c.truncated ? 1 : 0)),
		spreads,
		topTokens,
		topLogprobs,
	};
}
