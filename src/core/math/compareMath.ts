import type { Answer } from './answer.ts';
import { cleanText } from './cleanText.ts';
import { answersAgree, nearlyTheSame } from './compareAnswers.ts';
import { Budget, TooMuchWork } from './evaluate.ts';
import { parseAnswer } from './parseAnswer.ts';
import { parsePlainNumber } from './plainNumber.ts';
import * as Q from './rational.ts';
import { findBoxed, mostAnswerLength, statedAnswers } from './statedAnswer.ts';
import { isUnfinished } from './unfinished.ts';
import { literalWords } from './words.ts';

export interface Verdict {
	/** 1: the same; 0: another, or none; null: the gold answer cannot be read, so nothing can be said. */
	readonly value: 1 | 0 | null;
	/** One sentence for a person. */
	readonly reason: string;
}

export interface MathLimits {
	/** Steps of evaluation, of some microseconds each. */
	readonly steps: number;
}

const defaultLimits: MathLimits = { steps: 12_000 };

const verdict = (value: Verdict['value'], reason: string): Verdict => ({ value, reason });

/** For reasons: one line of limited length. */
function shown(text: string): string {
	const line = text.replace(/\s+/g, ' ').trim();
	return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/** What a gold column may hold besides the answer: a worked solution that ends in `#### 18` or has a box. */
export function goldAnswer(gold: string): string {
	const hashes = gold.lastIndexOf('####');
	if (hashes >= 0) return gold.slice(hashes + 4).trim();
	const boxes = findBoxed(gold);
	if (boxes.length === 0) return gold.trim();
	return statedAnswers(gold)[0] ?? gold.trim();
}

const missingGold = /^(?:nan|null|none|n\/a|undefined)?$/i;

/** Reads one answer; null: it is neither mathematics nor words. */
export function readAnswer(text: string): Answer | null {
	return text.length > mostAnswerLength ? null : parseAnswer(cleanText(text));
}

/** A worked solution in the place of the answer: what it states in so many words. */
function readStated(gold: string): Answer | null {
	if (!/\banswer\b/i.test(gold)) return null;
	for (const reading of statedAnswers(gold)) {
		const answer = readAnswer(reading);
		if (answer !== null) return answer;
	}
	return null;
}

/**
 * Whether a prediction is mathematically the gold answer. The gold answer comes first: it is a bare answer, a prediction
 * may be a bare answer, a sentence or a whole completion. They are not treated alike: a gold answer that cannot be read
 * makes the verdict null, a prediction that cannot be read is wrong.
 *
 * Needs the LaTeX parser (`loadLatexParser`) for more than plain numbers. Its cost is bounded but not to the millisecond:
 * `createMathComparer` (src/rewards/mathVerifier.ts) adds the hard limit.
 *
 * @param sole the prediction is a whole answer section, in which several different boxes are a list of candidates, a hedge
 * ("it could be") states nothing, and arithmetic is done
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
		return verdict(null, 'There is no gold answer.');
	}
	const expected = readAnswer(goldText) ?? readStated(goldText);
	if (expected === null) return verdict(null, `The gold answer ${shown(goldText)} cannot be read.`);
	const readings = statedAnswers(prediction, sole);
	if (readings.length === 0) return verdict(0, 'No answer is stated.');
	try {
		return compareReadings(expected, goldText, readings, new Budget(limits.steps), sole);
	} catch (error) {
		if (error instanceof TooMuchWork) return verdict(0, 'Comparing the answers takes more steps than it may.');
		throw error;
	}
}

/**
 * The verdict where a plain number meets a plain number, bare or in one box: exact arithmetic in microseconds, without the
 * parser. null: it takes more than that.
 */
export function comparePlainNumbers(gold: string, prediction: string, sole = false): Verdict | null {
	if (gold.length > 40 || prediction.length > 20_000) return null;
	const a = parsePlainNumber(gold.trim());
	if (a === null) return null;
	let stated = prediction.trim();
	if (stated.length > 40 || stated.startsWith('\\')) {
		const boxes = findBoxed(stated);
		const last = boxes.at(-1);
		if (last === undefined || (boxes.length > 1 && (sole || boxes.some(({ content }) => content !== last.content))))
			return null;
		// What stands behind the box may belong to it.
		if (/^\s*\$?\s*(?:\\?%|[a-zA-Z^\\{(])/.test(stated.slice(last.end, last.end + 8))) return null;
		stated = last.content.trim();
	}
	const b = parsePlainNumber(stated);
	if (b === null || a.percent !== b.percent) return null;
	if (Q.equal(a.value, b.value)) return verdict(1, `Both are ${Q.rationalText(a.value)}.`);
	// What may be rounded is for the rule about decimals.
	if (a.digits !== null || b.digits !== null) return null;
	return verdict(0, `${shown(stated)} is not ${shown(gold)}.`);
}

function compareReadings(
	expected: Answer,
	goldText: string,
	readings: readonly string[],
	budget: Budget,
	sole: boolean,
): Verdict {
	const goldWords = expected.kind === 'words' ? expected.words : null;
	for (const reading of readings) {
		if (goldWords !== null && literalWords(reading) === goldWords) return verdict(1, `Both say "${shown(goldWords)}".`);
		const answers = readWithRounding(reading);
		if (answers.length === 0) continue;
		if (sole && answers.every((answer) => isUnfinished(expected, answer))) {
			return verdict(0, `${shown(reading)} is not worked out.`);
		}
		if (answers.some((answer) => answersAgree(expected, answer, budget))) {
			return verdict(1, `${shown(reading)} is ${shown(goldText)}.`);
		}
		// A text that could be read has said what it says: other readings would be other answers.
		if (answers.some(({ kind }) => kind !== 'words')) return verdict(0, `${shown(reading)} is not ${shown(goldText)}.`);
	}
	const [first = ''] = readings;
	return verdict(0, `${shown(first)} is not ${shown(goldText)}.`);
}

/** `\frac13 \approx 0.33`: the exact value and, if it is one, the rounded value. */
function readWithRounding(reading: string): Answer[] {
	if (reading.length > mostAnswerLength) return [];
	const cleaned = cleanText(reading);
	const parts = cleaned.split(/\\approx(?![a-zA-Z])/);
	const last = parts.at(-1) as string;
	if (parts.length !== 2 || (parts[0] as string).trim() === '') {
		const answer = parseAnswer(cleaned);
		return answer === null ? [] : [answer];
	}
	const exact = parseAnswer(parts[0] as string);
	const rounded = parseAnswer(last);
	if (exact === null || rounded === null) return [];
	if (nearlyTheSame(exact, rounded)) return [exact, rounded];
	// x ≈ 3.14: the left side is a name.
	const whole = parseAnswer(cleaned);
	return [exact.kind === 'scalar' && exact.exact === null && whole !== null ? whole : exact];
}
