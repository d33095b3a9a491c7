import { compareMath } from '../core/math/compareMath.ts';
import { comparePlainNumbers, type Verdict } from '../core/math/comparePlainNumbers.ts';
import { loadLatexParser, resetLatexParser } from '../core/math/latexParser.ts';
import type { Verifier } from '../core/reward/accuracyReward.ts';
import { withTimeLimit } from './withTimeLimit.ts';

/** Time limit per pair, in milliseconds. Does not include loading the parser. */
export const pairLimitMs = 50;

export type MathComparer = (gold: string, prediction: string, options?: { readonly sole?: boolean }) => Verdict;

/**
 * Creates a `compareMath` function with a hard limit of 50 ms per pair and its parser already loaded. A pair that
 * exceeds the limit counts as incorrect, or as undecided if parsing the gold answer alone exceeds the limit.
 */
export async function createMathComparer(limitMs = pairLimitMs): Promise<MathComparer> {
	await loadLatexParser();
	const limited: MathComparer = (gold, prediction, { sole = false } = {}) => {
		const fast = comparePlainNumbers(gold, prediction, sole);
		if (fast !== null) return fast;
		const compared = withTimeLimit(limitMs, () => compareMath(gold, prediction, { sole }));
		if ('value' in compared) return compared.value;
		resetLatexParser();
		const alone = withTimeLimit(limitMs, () => compareMath(gold, '', { sole }));
		if ('tooLong' in alone) resetLatexParser();
		else if (alone.value.value !== null) return { value: 0, reason: `The comparison took longer than ${limitMs} ms.` };
		return { value: null, reason: `Parsing the gold answer took longer than ${limitMs} ms.` };
	};
	// Compile the code before timing the first pair.
	for (const [gold, prediction] of warmUp) limited(gold, prediction);
	return limited;
}

const warmUp = [
	['\\frac{1}{2}', '\\boxed{0.5}'],
	['x^2+2x+1', 'The answer is $(x+1)^2$.'],
	['\\sqrt{2}', '\\boxed{\\sqrt 2}'],
	['(1,2]', '1 < x \\le 2'],
	['\\{1,2\\}', '$x = 1$ or $x = 2$'],
] as const;

/** Creates a verifier that checks answers to a file's problems for mathematical equivalence. */
export async function createMathVerifier(): Promise<Verifier> {
	const compare = await createMathComparer();
	return ({ answer: gold }, answer, sole = true) => {
		if (gold === null) return null;
		const { value } = compare(gold, answer, { sole });
		return value === null ? null : value === 1;
	};
}
