import type { Generation } from './policy.ts';

/**
 * Computes prior probabilities of sibling generations for PUCT. They are proportional to the exponential of the mean
 * token log-probability, so long steps are not penalized, or to the frequency of each text if log-probabilities are
 * unknown. Duplicates share one probability, assigned to the first of them. The sum is 1.
 */
export function priorsOf(siblings: readonly Generation[]): readonly number[] {
	if (siblings.length === 1) return [1];
	const known = siblings.every(({ logprob }) => logprob !== null);
	const first = new Map<string, number>();
	const weights = siblings.map(({ text, logprob, tokens }, i) => {
		const before = first.get(text);
		if (before === undefined) first.set(text, i);
		return before === undefined && known ? Math.exp((logprob as number) / Math.max(1, tokens)) : 0;
	});
	if (!known) {
		for (const { text } of siblings) {
			const place = first.get(text) as number;
			weights[place] = (weights[place] as number) + 1;
		}
	}
	const sum = weights.reduce((a, b) => a + b, 0);
	return sum > 0 ? weights.map((weight) => weight / sum) : weights.map(() => 1 / siblings.length);
}
