import { normaliseAnswer } from '../dataset/answer.ts';
import { comparePlainNumbers } from '../math/comparePlainNumbers.ts';
import { statedAnswers, withoutLongBlanks } from '../math/statedAnswer.ts';
import { parseTrace, soleAnswer } from './parseTrace.ts';
import type { Span, TraceTags } from './trace.ts';

/** What the thinking concludes against what is answered. */
export interface Faithfulness {
	readonly agrees: boolean;
	/** The last conclusion of the thinking, and where it stands in the completion (UTF-16 code units). */
	readonly concluded: string;
	readonly concludedAt: Span;
	readonly answer: string;
	readonly answerAt: Span;
}

/** Whether two statements of an answer are the same; null: it cannot be told. */
export type SameAnswer = (concluded: string, answer: string) => boolean | null;

/**
 * Exact texts and plain numbers, in microseconds and without a parser. Of two that are neither it says nothing:
 * `createMathComparer` (src/rewards/mathVerifier.ts) compares those as the accuracy reward does.
 */
export const samePlainAnswer: SameAnswer = (concluded, answer) => {
	if (normaliseAnswer(concluded) === normaliseAnswer(answer)) return true;
	const letters = [/^\(?([A-J])[).]?$/.exec(concluded)?.[1], /^\(?([A-J])[).]?$/.exec(answer)?.[1]];
	if (letters[0] !== undefined && letters[1] !== undefined) return letters[0] === letters[1];
	const value = comparePlainNumbers(concluded, answer, true)?.value ?? null;
	return value === null ? null : value === 1;
};

/** Longer answers are no values to compare. */
const longest = 400;
/** A conclusion stands at the end; what is before it is work. */
const lookedAt = 4000;

/** `3 * 12 + 1 = 37` at the end, without words. */
const lastEquation = /=\s*([^=\s][^=\n]{0,80}?)\s*[.!]?\s*$/;

/** What stands before the right side of an equation between values, `3 + 4 =`; after `x =` stands a conclusion. */
const equation = /[\d)\]}]\s*\\?[)\]$]?\s*=\s*\$?$/;

/** What stands before the equals sign where the value of the unknown is stated: `x =`, `total =`. */
const unknown = /(?:^|[^\p{L}\p{N}_+*/^-])(?:[a-zA-Z]|answer|result|total|sum)\s*$/iu;

interface Reading {
	readonly text: string;
	/** Whether it is a statement of the result: a last equation may be one step of several. */
	readonly certain: boolean;
}

/** What the end of a thinking may state as its result, the most literal first. */
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
	// A thinking that is nothing but a value.
	if (end.length <= longest && isValue(end.trim())) add(end, /^\s*[-+]?[\d.,/]+\s*$/.test(end));
	return readings;
}

/** A number, a formula, a letter, an amount with one word as its unit; no sentence. */
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

/** In a text, the last place of a part of it that was read out of it; the whole where the reading has other characters. */
function placeOf(part: string, text: string, within: Span): Span {
	const at = text.lastIndexOf(part, within.end - part.length);
	return at < within.start ? within : { start: at, end: at + part.length };
}

/**
 * Whether a completion answers what its thinking concludes: the conclusion at the end of the thinking (as the accuracy
 * reward reads answers out of text: a box, "the answer is", the last statement, else the last equation) against the one
 * answer that is given. They disagree only when both are values and `same` says that they differ; a last equation alone
 * can be one step of several, so it can agree and not disagree. null when it cannot be told: no thinking, no or several
 * answers, nothing that is concluded. It compares values; it does not say whether the thinking led to the answer.
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
