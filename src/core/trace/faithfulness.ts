import { normalizeAnswer } from '../dataset/answer.ts';
import { comparePlainNumbers } from '../math/comparePlainNumbers.ts';
import { statedAnswers, withoutLongBlanks } from '../math/statedAnswer.ts';
import { parseTrace, soleAnswer } from './parseTrace.ts';
import type { Span, TraceTags } from './trace.ts';

/** Comparison of the thinking section's conclusion with the answer. */
export interface Faithfulness {
	readonly agrees: boolean;
	/** Last conclusion in the thinking section, and its position in the completion (UTF-16 code units). */
	readonly concluded: string;
	readonly concludedAt: Span;
	readonly answer: string;
	readonly answerAt: Span;
}

/** Returns whether two answers are equal; null if unknown. */
export type SameAnswer = (concluded: string, answer: string) => boolean | null;

/**
 * Compares exact strings and plain numbers in microseconds, without a parser. Returns null for anything else, which
 * `createMathComparer` (src/rewards/mathVerifier.ts) compares the same way as the accuracy reward.
 */
export const samePlainAnswer: SameAnswer = (concluded, answer) => {
	if (normalizeAnswer(concluded) === normalizeAnswer(answer)) return true;
	const letters = [/^\(?([A-J])[).]?$/.exec(concluded)?.[1], /^\(?([A-J])[).]?$/.exec(answer)?.[1]];
	if (letters[0] !== undefined && letters[1] !== undefined) return letters[0] === letters[1];
	const value = comparePlainNumbers(concluded, answer, true)?.value ?? null;
	return value === null ? null : value === 1;
};

/** Maximum length of an answer that is compared as a value. */
const longest = 400;
/** Number of characters to search for a conclusion at the end of the thinking section. */
const lookedAt = 4000;

/** Matches an equation without words at the end of the text, such as `3 * 12 + 1 = 37`. */
const lastEquation = /=\s*([^=\s][^=\n]{0,80}?)\s*[.!]?\s*$/;

/**
 * Matches text before the right side of an equation between values, such as `3 + 4 =`. The text after `x =`, in
 * contrast, is a conclusion.
 */
const equation = /[\d)\]}]\s*\\?[)\]$]?\s*=\s*\$?$/;

/** Matches text before the equals sign of a named unknown: `x =`, `total =`. */
const unknown = /(?:^|[^\p{L}\p{N}_+*/^-])(?:[a-zA-Z]|answer|result|total|sum)\s*$/iu;

interface Reading {
	readonly text: string;
	/** Whether the text states the result. A final equation might be just an intermediate step. */
	readonly certain: boolean;
}

/** Returns possible results stated at the end of the thinking section, most literal first. */
function conclusions(end: string): Reading[] {
	const readings: Reading[] = [];
	const add = (raw: string, certain: boolean) => {
		const text = tidy(raw);
		if (text === '' || text.length > longest) return;
		const at = end.lastIndexOf(text);
		const step = at >= 0 && equation.test(end.slice(Math.max(0, at - 80), at));
		readings.push({ text, certain: certain && isValue(text) && !step });
	};
	for (const reading of statedAnswers(end)) if (reading !== end.trim()) add(reading, true);
	const last = lastEquation.exec(end);
	if (last?.[1] !== undefined) add(last[1], unknown.test(end.slice(Math.max(0, last.index - 40), last.index)));
	// The thinking section consists only of a value.
	if (end.length <= longest && isValue(end.trim())) add(end, /^\s*[-+]?[\d.,/]+\s*$/.test(end));
	return readings;
}

/**
 * Returns whether text is a number, a formula, a letter, or an amount with a one-word unit, as opposed to a sentence.
 */
function isValue(text: string): boolean {
	const words = text.replace(/\\[a-zA-Z]+/g, ' ').match(/\p{L}{2,}/gu) ?? [];
	return words.length === 0 || (words.length === 1 && /\d/.test(text));
}

const tidy = (text: string) =>
	text
		.trim()
		.replace(/(?<=[^.])[.!]$/, '')
		.replace(/^\$([^$]*)\$$/, '$1')
		.trim();

/** Returns the last occurrence of an extracted part in the text, or the whole span if extraction changed characters. */
function placeOf(part: string, text: string, within: Span): Span {
	const at = text.lastIndexOf(part, within.end - part.length);
	return at < within.start ? within : { start: at, end: at + part.length };
}

/**
 * Checks whether a completion's answer agrees with the conclusion of its thinking section. The conclusion is parsed
 * like answers in the accuracy reward: a box, "the answer is", the last statement or, failing those, the last equation.
 * The answer and the conclusion disagree only if both are values and `same` reports a difference. A final equation
 * alone might be an intermediate step, so it can agree but not disagree. Returns null if the completion has no thinking
 * section, no answer or several answers, or no conclusion. Only values are compared, not whether the thinking supports
 * the answer.
 */
export function checkFaithfulness(
	completion: string,
	tags: TraceTags,
	same: SameAnswer = samePlainAnswer,
): Faithfulness | null {
	const trace = parseTrace(completion, tags);
	const { thinkSpan, answerSpan } = trace;
	if (trace.think === null || thinkSpan === null || answerSpan === null) return null;
	const given = soleAnswer(trace, tags);
	if (given === null) return null;
	const answers = [...new Set([given, ...statedAnswers(given, true)].map(tidy))].filter(
		(answer) => answer !== '' && answer.length <= longest,
	);
	const from = Math.max(thinkSpan.start, thinkSpan.end - lookedAt);
	const concluded = conclusions(withoutLongBlanks(completion.slice(from, thinkSpan.end)));
	let differing: { readonly concluded: string; readonly answer: string } | null = null;
	const result = (agrees: boolean, conclusion: string, answer: string): Faithfulness => ({
		agrees,
		concluded: conclusion,
		concludedAt: placeOf(conclusion, completion, { start: from, end: thinkSpan.end }),
		answer,
		answerAt: placeOf(answer, completion, answerSpan),
	});
	for (const { text, certain } of concluded) {
		for (const answer of answers) {
			const verdict = same(text, answer);
			if (verdict === true) return result(true, text, answer);
			if (verdict === false && certain && isValue(answer)) differing ??= { concluded: text, answer };
		}
	}
	return differing === null ? null : result(false, differing.concluded, differing.answer);
}
