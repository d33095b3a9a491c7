import { normalizeAnswer } from '../dataset/answer.ts';
import { comparePlainNumbers } from '../math/comparePlainNumbers.ts';
import { statedAnswers, withoutLongBlanks } from '../math/statedAnswer.ts';
import { parseTrace, soleAnswer } from './parseTrace.ts';
import type { Span, TraceTags } from './trace.ts';

/** Compares the conclusion of the thinking with the answer. */
export interface Faithfulness {
	readonly agrees: boolean;
	/** The last conclusion of the thinking, and its position in the completion (UTF-16 code units). */
	readonly concluded: string;
	readonly concludedAt: Span;
	readonly answer: string;
	readonly answerAt: Span;
}

/** Whether two stated answers are equal; null if unknown. */
export type SameAnswer = (concluded: string, answer: string) => boolean | null;

/**
 * Compares exact texts and plain numbers, in microseconds and without a parser. null for anything else:
 * `createMathComparer` (src/rewards/mathVerifier.ts) compares those like the accuracy reward.
 */
export const samePlainAnswer: SameAnswer = (concluded, answer) => {
	if (normalizeAnswer(concluded) === normalizeAnswer(answer)) return true;
	const letters = [/^\(?([A-J])[).]?$/.exec(concluded)?.[1], /^\(?([A-J])[).]?$/.exec(answer)?.[1]];
	if (letters[0] !== undefined && letters[1] !== undefined) return letters[0] === letters[1];
	const value = comparePlainNumbers(concluded, answer, true)?.value ?? null;
	return value === null ? null : value === 1;
};

/** Longer answers are not values to compare. */
const longest = 400;
/** A conclusion is at the end; earlier text is work. */
const lookedAt = 4000;

/** `3 * 12 + 1 = 37` at the end, without words. */
const lastEquation = /=\s*([^=\s][^=\n]{0,80}?)\s*[.!]?\s*$/;

/** Text before the right side of an equation between values, `3 + 4 =`; after `x =`, a conclusion follows. */
const equation = /[\d)\]}]\s*\\?[)\]$]?\s*=\s*\$?$/;

/** Text before the equals sign of a stated unknown: `x =`, `total =`. */
const unknown = /(?:^|[^\p{L}\p{N}_+*/^-])(?:[a-zA-Z]|answer|result|total|sum)\s*$/iu;

interface Reading {
	readonly text: string;
	/** Whether it states the result: a final equation may be just one step of several. */
	readonly certain: boolean;
}

/** Possible results stated at the end of the thinking, most literal first. */
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
	// Thinking that is nothing but a value.
	if (end.length <= longest && isValue(end.trim())) add(end, /^\s*[-+]?[\d.,/]+\s*$/.test(end));
	return readings;
}

/** A number, a formula, a letter, or an amount with a one-word unit; not a sentence. */
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

/** The last occurrence of an extracted part in a text; the whole span if the extraction changed characters. */
function placeOf(part: string, text: string, within: Span): Span {
	const at = text.lastIndexOf(part, within.end - part.length);
	return at < within.start ? within : { start: at, end: at + part.length };
}

/**
 * Checks whether a completion answers what its thinking concludes: the conclusion at the end of the thinking (parsed
 * like answers of the accuracy reward: a box, "the answer is", the last statement, otherwise the last equation) against
 * the single given answer. They disagree only if both are values and `same` reports a difference; a final equation
 * alone may be one step of several, so it can agree but not disagree. null if unknown: no thinking, no or several
 * answers, or no conclusion. It compares values; it does not judge whether the thinking led to the answer.
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
	const told = (agrees: boolean, conclusion: string, answer: string): Faithfulness => ({
		agrees,
		concluded: conclusion,
		concludedAt: placeOf(conclusion, completion, { start: from, end: thinkSpan.end }),
		answer,
		answerAt: placeOf(answer, completion, answerSpan),
	});
	for (const { text, certain } of concluded) {
		for (const answer of answers) {
			const verdict = same(text, answer);
			if (verdict === true) return told(true, text, answer);
			if (verdict === false && certain && isValue(answer)) differing ??= { concluded: text, answer };
		}
	}
	return differing === null ? null : told(false, differing.concluded, differing.answer);
}
