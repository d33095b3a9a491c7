import { Failure } from '../../base/failure.ts';
import type { Random } from '../../base/random.ts';
import { findBehaviors } from './behaviors.ts';
import { parseTrace, soleAnswer } from './parseTrace.ts';
import { type StepRule, splitSteps, type TextStep } from './splitSteps.ts';
import type { Span, TraceTags } from './trace.ts';

/**
 * Perturbations from Li et al. 2025 ("LLMs can easily learn to reason from demonstrations: structure, not content, is
 * what matters"), in which models are trained on traces modified in one of these ways:
 * - `wrong-answer`: replaces the answer; `corrupt-digits`: changes digits in the thinking
 * - `remove-keywords`: removes words that indicate reflection, verification or backtracking
 * - `cut-at-keyword`: ends the thinking before the first such word (not in the paper)
 * - `shuffle-steps`, `delete-steps`, `insert-steps` (steps from other traces)
 */
export const perturbationKinds = [
	'wrong-answer',
	'corrupt-digits',
	'remove-keywords',
	'cut-at-keyword',
	'shuffle-steps',
	'delete-steps',
	'insert-steps',
] as const;
export type PerturbationKind = (typeof perturbationKinds)[number];

export interface Perturbation {
	readonly kind: PerturbationKind;
	/** Fraction of digits, keywords or steps to perturb, 0..1; unused for `wrong-answer` and `cut-at-keyword`. */
	readonly share: number;
}

export interface PerturbOptions {
	readonly tags: TraceTags;
	readonly random: Random;
	/** Rule for splitting the thinking. Default: the first of paragraphs, lines and sentences that yields three steps. */
	readonly rule?: StepRule;
	/** Steps from other traces; only for `insert-steps`. */
	readonly donors?: readonly string[];
	/** Answer that is certain to be wrong; only for `wrong-answer`. */
	readonly wrongAnswer?: string | null;
}

/** Parses "corrupt-digits:0.5"; the fraction defaults to 1. Throws `invalid`. */
export function parsePerturbation(text: string): Perturbation {
	const [name = '', amount, ...rest] = text.split(':');
	const kind = perturbationKinds.find((one) => one === name);
	const share = amount === undefined ? 1 : Number(amount);
	if (kind === undefined || rest.length > 0 || amount === '' || !(share > 0 && share <= 1)) {
		throw new Failure(
			'invalid',
			`Unknown perturbation "${text}".`,
			`Use one of ${perturbationKinds.join(', ')}, optionally followed by a colon and a fraction greater than 0 and at most 1, such as corrupt-digits:0.5.`,
		);
	}
	return { kind, share };
}

/**
 * Perturbs a completion; returns null if there is nothing to perturb (no thinking, no digits, a single step, no
 * answer). All perturbations except `wrong-answer` modify only the thinking and keep the tags and the answer. Every
 * change has an effect: a digit is replaced by a different one, and a shuffled step moves unless its text is the same.
 */
export function perturbTrace(
	completion: string,
	{ kind, share }: Perturbation,
	options: PerturbOptions,
): string | null {
	const { tags, random } = options;
	const trace = parseTrace(completion, tags);
	if (kind === 'wrong-answer') return withWrongAnswer(completion, options);
	const untagged = trace.tags.length === 0 && !tags.think && !tags.answer;
	const span = trace.thinkSpan ?? (untagged ? { start: 0, end: completion.length } : null);
	if (span === null) return null;
	const thinking = completion.slice(span.start, span.end);
	const changed = changeThinking(thinking, kind, share, options, random);
	return changed === null || changed === thinking
		? null
		: completion.slice(0, span.start) + changed + completion.slice(span.end);
}

function changeThinking(
	thinking: string,
	kind: Exclude<PerturbationKind, 'wrong-answer'>,
	share: number,
	options: PerturbOptions,
	random: Random,
): string | null {
	switch (kind) {
		case 'corrupt-digits':
			return corruptDigits(thinking, share, random);
		case 'remove-keywords':
			return removeKeywords(thinking, share, random);
		case 'cut-at-keyword':
			return cutAtKeyword(thinking);
		case 'shuffle-steps':
			return shuffleSteps(thinking, stepsOf(thinking, options.rule), share, random);
		case 'delete-steps':
			return deleteSteps(thinking, stepsOf(thinking, options.rule), share, random);
		case 'insert-steps':
			return insertSteps(thinking, stepsOf(thinking, options.rule), share, options.donors ?? [], random);
	}
}

/** Converts a fraction to a count of at least one, or 0 if there is nothing to count. */
const countOf = (share: number, all: number) => Math.min(all, Math.max(1, Math.round(share * all)));

/** Returns a random selection of numbers below `all`, in ascending order. */
function someOf(all: number, count: number, random: Random): number[] {
	const every = random.shuffle(Array.from({ length: all }, (_, i) => i));
	return every.slice(0, count).sort((a, b) => a - b);
}

export function stepsOf(thinking: string, rule?: StepRule): TextStep[] {
	if (rule !== undefined) return splitSteps(thinking, rule);
	for (const named of ['paragraphs', 'lines', 'sentences'] as const) {
		const steps = splitSteps(thinking, named);
		if (steps.length >= 3) return steps;
	}
	return splitSteps(thinking, 'sentences');
}

function corruptDigits(thinking: string, share: number, random: Random): string | null {
	const places = [...thinking.matchAll(/\d/g)].map((match) => match.index);
	if (places.length === 0) return null;
	const characters = thinking.split('');
	for (const i of someOf(places.length, countOf(share, places.length), random)) {
		const place = places[i] as number;
		characters[place] = String((Number(characters[place]) + 1 + random.int(9)) % 10);
	}
	return characters.join('');
}

/** Returns the words that indicate reflection, verification or backtracking. */
const keywordsIn = (thinking: string) =>
	findBehaviors(thinking).filter(
		({ behavior }) => behavior === 'reflection' || behavior === 'verification' || behavior === 'backtracking',
	);

function cutAtKeyword(thinking: string): string | null {
	const [first] = keywordsIn(thinking);
	if (first === undefined) return null;
	const before = thinking.slice(0, first.start).trimEnd();
	// Also removes the separator between a step and the keyword.
	return /[;,]$/.test(before) ? before.slice(0, -1) : before;
}

function removeKeywords(thinking: string, share: number, random: Random): string | null {
	const marks = keywordsIn(thinking);
	if (marks.length === 0) return null;
	let text = '';
	let from = 0;
	for (const i of someOf(marks.length, countOf(share, marks.length), random)) {
		const { start, end } = marks[i] as Span;
		text += thinking.slice(from, start);
		// Also removes the punctuation that follows the keyword, as in "Wait, let me".
		from = end + (/^[,.!:…]*[^\S\n]*/.exec(thinking.slice(end, end + 20))?.[0].length ?? 0);
	}
	return text + thinking.slice(from);
}

/** Replaces the contents of steps, keeping the text between them. */
function rebuild(text: string, steps: readonly TextStep[], contents: readonly string[]): string {
	let built = '';
	let from = 0;
	for (const [i, { start, end }] of steps.entries()) {
		built += text.slice(from, start) + contents[i];
		from = end;
	}
	return built + text.slice(from);
}

function shuffleSteps(text: string, steps: readonly TextStep[], share: number, random: Random): string | null {
	if (steps.length < 2) return null;
	const moved = someOf(steps.length, Math.max(2, countOf(share, steps.length)), random);
	// Uses a random cyclic permutation, so that every step moves.
	const cycle = random.shuffle([...moved]);
	const contents = steps.map((step) => step.text);
	for (const [i, place] of cycle.entries()) {
		contents[place] = (steps[cycle[(i + 1) % cycle.length] as number] as TextStep).text;
	}
	return rebuild(text, steps, contents);
}

function deleteSteps(text: string, steps: readonly TextStep[], share: number, random: Random): string | null {
	if (steps.length < 2) return null;
	const gone = new Set(someOf(steps.length, countOf(share, steps.length), random));
	let built = text.slice(0, steps[0]?.start);
	for (const [i, { text: step, end }] of steps.entries()) {
		const gap = text.slice(end, steps[i + 1]?.start);
		if (!gone.has(i)) built += step + gap;
		else if (i === steps.length - 1) built = built.trimEnd() + gap;
	}
	return built;
}

function insertSteps(
	text: string,
	steps: readonly TextStep[],
	share: number,
	donors: readonly string[],
	random: Random,
): string | null {
	if (steps.length === 0 || donors.length === 0) return null;
	const gap = steps.length > 1 ? text.slice((steps[0] as TextStep).end, (steps[1] as TextStep).start) || ' ' : '\n';
	const contents = steps.map((step) => step.text);
	for (let n = countOf(share, steps.length); n > 0; n--) {
		const place = random.int(contents.length);
		contents[place] = `${random.pick(donors)}${gap}${contents[place]}`;
	}
	return rebuild(text, steps, contents);
}

/** Replaces the answer, and the same value in the last thinking step so that the thinking leads to the new answer. */
function withWrongAnswer(completion: string, { tags, wrongAnswer }: PerturbOptions): string | null {
	const trace = parseTrace(completion, tags);
	const answer = soleAnswer(trace, tags);
	const { answerSpan, thinkSpan } = trace;
	if (answer === null || answerSpan === null || wrongAnswer === undefined || wrongAnswer === null) return null;
	if (answer === wrongAnswer || answer.length > 400) return null;
	const at = completion.indexOf(answer, answerSpan.start);
	const after = completion.slice(0, at) + wrongAnswer + completion.slice(at + answer.length);
	if (thinkSpan === null || thinkSpan.start > at) return after;
	const last = stepsOf(completion.slice(thinkSpan.start, thinkSpan.end)).at(-1);
	if (last === undefined) return after;
	const start = thinkSpan.start + last.start;
	const escaped = answer.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
	const whole = new RegExp(`(?<![\\p{L}\\p{N}.,])${escaped}(?![\\p{L}\\p{N}]|[.,]\\d)`, 'gu');
	return after.slice(0, start) + last.text.replace(whole, () => wrongAnswer) + after.slice(start + last.text.length);
}
