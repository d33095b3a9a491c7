import type { Generation } from './policy.ts';

/**
 * Prior probabilities of sibling generations for PUCT: proportional to the exponential of the mean token
 * log-probability, so that long steps are not penalized; if that is unknown, to the frequency of each text. Duplicates
 * share one probability, assigned to the first; the sum is 1.
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
