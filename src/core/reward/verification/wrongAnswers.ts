import type { Random } from '../../../base/random.ts';
import { answersEqual } from '../../dataset/answer.ts';
import type { Question } from '../../dataset/problem.ts';
import type { Verifier } from '../accuracyReward.ts';
import { type AnswerForm, answerForm, unwrapAnswer } from './answerForm.ts';
import { equalDecimals, formatDecimal } from './decimal.ts';
import { bareAnswer } from './honestCompletion.ts';

export interface WrongAnswer {
	readonly answer: string;
	/** Description of how the answer was constructed, such as "off by one". */
	readonly how: string;
}

export interface WrongAnswerOptions {
	/** Verifies candidate answers; a candidate counts as wrong only if the result is false. */
	readonly verify: Verifier;
	/** Problem text, which is searched for multiple-choice options. */
	readonly prompt: string;
	/** Gold answers to other problems. */
	readonly others: readonly string[];
	readonly random: Random;
	/** Maximum number of answers. */
	readonly count: number;
}

type Quantity = Extract<AnswerForm, { form: 'quantity' }>;

/** Yields answers with a different number in the same wording. */
function* ofQuantity({ before, number, after }: Quantity): Generator<WrongAnswer> {
	const write = (unscaled: bigint, places = number.places) =>
		`${before}${formatDecimal({ ...number, unscaled, places })}${after}`;
	const one = 10n ** BigInt(number.places);
	yield { answer: write(number.unscaled + one), how: 'off by one' };
	yield { answer: write(number.unscaled - one), how: 'off by one' };
	if (number.unscaled !== 0n) {
		yield { answer: write(-number.unscaled), how: 'sign' };
		yield { answer: write(number.unscaled * 10n), how: 'off by a factor of 10' };
	}
	const negative = number.unscaled < 0n;
	const digits = [...String(negative ? -number.unscaled : number.unscaled)];
	for (let i = digits.length - 2; i >= 0; i--) {
		const [a, b] = [digits[i] as string, digits[i + 1] as string];
		if (a === b) continue;
		const swapped = BigInt(
			digits
				.with(i, b)
				.with(i + 1, a)
				.join(''),
		);
		yield { answer: write(negative ? -swapped : swapped), how: 'digits swapped' };
		break;
	}
}

type Fraction = Extract<AnswerForm, { form: 'fraction' }>;

function* ofFraction({ top, bottom, write }: Fraction): Generator<WrongAnswer> {
	yield { answer: write(top + 1n, bottom), how: 'off by one' };
	if (top === 0n) return;
	yield { answer: write(top, bottom + 1n), how: 'denominator off by one' };
	yield { answer: write(-top, bottom), how: 'sign' };
	yield { answer: write(top * 10n, bottom), how: 'off by a factor of 10' };
	if (top * top !== bottom * bottom) {
		yield { answer: top < 0n ? write(-bottom, -top) : write(bottom, top), how: 'reciprocal' };
	}
}

/**
 * Returns the option letters in the prompt (`A)`, `(B)` or `C.` at the start of a line), or A to D if there are none.
 */
export function optionLetters(prompt: string): string[] {
	const found = [...prompt.slice(0, 20_000).matchAll(/(?:^|[\s(])([A-J])[).:]/gm)].map((match) => match[1] as string);
	const letters = [...new Set(found)].sort();
	return letters.length >= 2 ? letters : ['A', 'B', 'C', 'D'];
}

function* ofOption(form: Extract<AnswerForm, { form: 'option' }>, prompt: string): Generator<WrongAnswer> {
	const small = form.letter === form.letter.toLowerCase();
	for (const letter of optionLetters(prompt)) {
		if (letter === form.letter.toUpperCase()) continue;
		yield { answer: form.write(small ? letter.toLowerCase() : letter), how: 'different option' };
	}
}

/** Replaces the last letter or digit with the next one: "olleh" becomes "ollei". */
function* ofText(answer: string): Generator<WrongAnswer> {
	const match = /^(.*)([A-Za-z0-9])([^A-Za-z0-9]*)$/s.exec(answer.slice(-400));
	if (match === null) return;
	const [, before = '', last = '', after = ''] = match;
	const code = last.charCodeAt(0);
	const next = /[zZ9]/.test(last) ? code - 1 : code + 1;
	const front = answer.slice(0, Math.max(0, answer.length - 400)) + before;
	const how = /\d/.test(last) ? 'last digit changed' : 'last letter changed';
	yield { answer: front + String.fromCharCode(next) + after, how };
}

function* madeFrom(answer: string, form: AnswerForm, prompt: string): Generator<WrongAnswer> {
	switch (form.form) {
		case 'quantity':
			yield* ofQuantity(form);
			break;
		case 'fraction':
			yield* ofFraction(form);
			break;
		case 'option':
			yield* ofOption(form, prompt);
			break;
		case 'opposite':
			yield { answer: form.other, how: 'opposite' };
			break;
		case 'structure': {
			// Uses a number larger than any in the answer, so a set does not just repeat an element: {1, 2, 1} equals {1, 2,
			// 2}.
			const numbers = (answer.match(/\d+/g) ?? []).map(BigInt);
			const largest = numbers.reduce((max, number) => (number > max ? number : max), 0n);
			yield { answer: `${form.before}${largest + 1n}${form.after}`, how: 'one number changed' };
			break;
		}
		case 'expression':
			yield { answer: `${answer}+1`, how: 'plus one' };
			break;
		case 'text':
			if (form.plain) yield* ofText(answer);
	}
}

/**
 * Returns the sorted letters and digits, so that products that differ only in the order of their factors compare equal.
 */
const bare = (answer: string) =>
	[
		...answer
			.slice(0, 2_000)
			.toLowerCase()
			.replace(/[^\p{L}\p{N}]+/gu, ''),
	]
		.sort()
		.join('');

/** Returns whether another problem's answer differs from the gold answer under any comparison. */
function differs(form: AnswerForm, gold: string, answer: string): boolean {
	const other = answerForm(answer);
	if (form.form === 'quantity') {
		if (other.form !== 'quantity' || other.before !== form.before || other.after !== form.after) return false;
		return !equalDecimals(other.number, form.number);
	}
	if (form.form === 'fraction') {
		return other.form === 'fraction' && other.top * form.bottom !== form.top * other.bottom;
	}
	return form.form === 'text' && form.plain && other.form === 'text' && other.plain && bare(gold) !== bare(answer);
}

/** Non-answer, which is wrong unless the gold answer is this exact word. */
const unknown: WrongAnswer = { answer: 'unknown', how: 'no answer' };
const empty: WrongAnswer = { answer: '', how: 'empty' };

/**
 * Constructs answers that are certain to be wrong, labeled by construction method, in seeded order and without
 * duplicates: a number off by one, with the opposite sign, with swapped digits, or ten times as large; an inverted
 * fraction; a different option; an expression plus one; another problem's answer; no answer. An answer is kept only if
 * `verify` rejects it and it is also wrong under mathematical equivalence (`0.5` is never used for `1/2`). Returns none
 * for a problem without a gold answer.
 */
export function wrongAnswers(question: Question, options: WrongAnswerOptions): WrongAnswer[] {
	const { verify, prompt, others, random, count } = options;
	if (question.answer === null) return [];
	const gold = bareAnswer(question.answer);
	const { before, inner, after } = unwrapAnswer(gold);
	const form = answerForm(inner);
	const made = [...madeFrom(inner, form, prompt)].map(({ answer, how }) => ({ answer: before + answer + after, how }));
	// Most other answers differ, so a few random draws suffice.
	for (let tries = 0; tries < 4 && others.length > 0; tries++) {
		const other = random.pick(others);
		const bare = bareAnswer(other);
		if (!differs(form, inner, unwrapAnswer(bare).inner)) continue;
		made.push({ answer: bare, how: "another problem's answer" });
		break;
	}
	const seen = new Set<string>();
	const wrong: WrongAnswer[] = [];
	for (const candidate of [...random.shuffle([...made, empty]), unknown]) {
		if (wrong.length >= count) break;
		if (seen.has(candidate.answer) || answersEqual(gold, candidate.answer)) continue;
		seen.add(candidate.answer);
		if (candidate === unknown && gold.toLowerCase().includes('unknown')) continue;
		if (verify(question, candidate.answer) === false) wrong.push(candidate);
	}
	return wrong;
}
