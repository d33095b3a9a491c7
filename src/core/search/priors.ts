import type { Generation } from './policy.ts';

/**
 * Prior probabilities of generations that are siblings, as PUCT uses them: proportional to the exponential of the mean
 * log-probability of their tokens, so that long steps are not held to be unlikely; where that is not told, to how often a
 * text came. What came twice has its probability once, with the first; they add up to 1.
 */
export function priorsOf(siblings: readonly Generation[]): readonly number[] {
	if (siblings.length === 1) return [1];
	const told = siblings.every(({ logprob }) => logprob !== null);
	const first = new Map<string, number>();
	const weights = siblings.map(({ text, logprob, tokens }, i) => {
		const before = first.get(text);
		if (before === undefined) first.set(text, i);
		return before === undefined && told ? Math.exp((logprob as number) / Math.max(1, tokens)) : 0;
	});
	if (!told) {
		for (const { text } of siblings) {
			const place = first.get(text) as number;
			weights[place] = (weights[place] as number) + 1;
		}
	}
	const sum = weights.reduce((a, b) => a + b, 0);
	return sum > 0 ? weights.map((weight) => weight / sum) : weights.map(() => 1 / siblings.length);
}
