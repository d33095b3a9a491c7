import type { Answer } from './answer.ts';
import { splitOutside } from './brackets.ts';
import { cleanText } from './cleanText.ts';
import { answersAgree } from './compareAnswers.ts';
import { comparePlainNumbers, shownAnswer, type Verdict, verdict } from './comparePlainNumbers.ts';
import { nearlyTheSame } from './compareScalars.ts';
import { Budget, TooMuchWork } from './evaluate.ts';
import { parseAnswer } from './parseAnswer.ts';
import { readingsForGold } from './readingsForGold.ts';
import { findBoxed, maxAnswerLength, statedAnswers } from './statedAnswer.ts';
import { isUnfinished } from './unfinished.ts';
import { literalWords } from './words.ts';

export interface MathLimits {
	/** Maximum number of evaluation steps, at a few microseconds each. */
	readonly steps: number;
}

const defaultLimits: MathLimits = { steps: 12_000 };

/** Extracts the answer from a gold column, which can contain a worked solution that ends in `#### 18` or has a box. */
export function goldAnswer(gold: string): string {
	const hashes = gold.lastIndexOf('####');
	if (hashes >= 0) return gold.slice(hashes + 4).trim();
	const boxes = findBoxed(gold);
	if (boxes.length === 0) return gold.trim();
	return statedAnswers(gold)[0] ?? gold.trim();
}

const missingGold = /^(?:nan|null|none|n\/a|undefined)?$/i;

/** Parses the gold answer, or the answer stated explicitly in a worked solution. Returns an empty list on failure. */
function readGold(gold: string): Answer[] {
	const answers = readWithRounding(gold);
	if (answers.length > 0 || !/\banswer\b/i.test(gold)) return answers;
	return (
		statedAnswers(gold)
			.map(readWithRounding)
			.find((found) => found.length > 0) ?? []
	);
}

/**
 * Returns whether a prediction is mathematically equal to the gold answer (the first argument). The gold answer is
 * bare; the prediction can be a bare answer, a sentence, or an entire completion. The two are treated differently: an
 * unreadable gold answer makes the verdict null, while an unreadable prediction is wrong.
 *
 * Requires the LaTeX parser (`loadLatexParser`) for anything beyond plain numbers. The cost is bounded, but not to the
 * millisecond: `createMathComparer` (src/rewards/mathVerifier.ts) adds the hard limit.
 *
 * @param sole whether the prediction is an entire answer section, in which several different boxes are a list of
 * candidates, a hedge ("it could be") does not count as a statement, and arithmetic must be carried out
 */
export function compareMath(
	gold: string,
	prediction: string,
	{ limits = defaultLimits, sole = false }: { readonly limits?: MathLimits; readonly sole?: boolean } = {},
): Verdict {
	const fast = comparePlainNumbers(gold, prediction, sole);
	if (fast !== null) return fast;
	const goldText = goldAnswer(gold);
	if (missingGold.test(goldText) && !/^(?:none|undefined)$/i.test(goldText)) {
		return verdict(null, 'The gold answer is missing.');
	}
	const expected = readGold(goldText);
	if (expected.length === 0) return verdict(null, `The gold answer ${shownAnswer(goldText)} cannot be parsed.`);
	const readings = statedAnswers(prediction, sole);
	if (readings.length === 0) return verdict(0, 'No answer found.');
	try {
		return compareReadings(expected, goldText, readings, new Budget(limits.steps), sole);
	} catch (error) {
		if (error instanceof TooMuchWork) return verdict(0, 'Comparing the answers exceeds the step budget.');
		throw error;
	}
}

function compareReadings(
	expected: readonly Answer[],
	goldText: string,
	readings: readonly string[],
	budget: Budget,
	sole: boolean,
): Verdict {
	const [first] = expected;
	const goldWords = first?.kind === 'words' ? first.words : null;
	for (const reading of readings) {
		if (goldWords !== null && literalWords(reading) === goldWords)
			return verdict(1, `Both say "${shownAnswer(goldWords)}".`);
		const answers = readWithRounding(reading);
		if (answers.length === 0 && expected.every((one) => readingsForGold(one, reading).length === 0)) continue;
		if (sole && answers.length > 0 && answers.every((answer) => expected.every((one) => isUnfinished(one, answer)))) {
			return verdict(0, `${shownAnswer(reading)} is not fully evaluated.`);
		}
		const agrees = (one: Answer, all: readonly Answer[]) => all.some((answer) => answersAgree(one, answer, budget));
		if (expected.some((one) => agrees(one, answers) || agrees(one, readingsForGold(one, reading)))) {
			return verdict(1, `${shownAnswer(reading)} is ${shownAnswer(goldText)}.`);
		}
		// This reading was parsed, so it is the stated answer; other readings would be different answers.
		if (answers.some(({ kind }) => kind !== 'words'))
			return verdict(0, `${shownAnswer(reading)} is not ${shownAnswer(goldText)}.`);
	}
	return verdict(0, `${shownAnswer(readings[0] ?? '')} is not ${shownAnswer(goldText)}.`);
}

/**
 * Parses text as a single answer, or as an exact value followed by its rounded value, as in `\frac13 \approx 0.33`.
 * Returns an empty list if the text is neither math nor words, or if it gives two values that differ by more than a
 * rounding error.
 */
export function readWithRounding(reading: string): Answer[] {
	if (reading.length > maxAnswerLength) return [];
	const cleaned = cleanText(reading);
	const parts = cleaned.split(/\\approx(?![a-zA-Z])/);
	const last = parts.at(-1) as string;
	const several = splitOutside(cleaned, new Set([',', ';']))?.pieces.length ?? 2;
	if (parts.length !== 2 || (parts[0] as string).trim() === '' || several > 1) {
		const answer = parseAnswer(cleaned);
		return answer === null ? [] : [answer];
	}
	const exact = parseAnswer(parts[0] as string);
	const rounded = parseAnswer(last);
	if (exact === null || rounded === null) return [];
	if (nearlyTheSame(exact, rounded)) return [exact, rounded];
	// In x ≈ 3.14, the left side is a name. Otherwise, the text gives two different values.
	const whole = parseAnswer(cleaned);
	return whole?.kind === 'named' && exact.kind === 'scalar' ? [whole] : [];
}
