import { Failure } from '../../base/failure.ts';
import { parseTrace } from './parseTrace.ts';
import type { Span, TraceTags } from './trace.ts';

/**
 * Rules for splitting a completion into steps. Labels store the rule name (protocol/stepLabel.ts):
 * - `lines`, `paragraphs` (separated by an empty line), `numbered` ("Step 3:", "3." at the start of a line),
 *   `sentences`
 * - `tokens-64`: every 64 tokens, for completions without any of these
 */
export type NamedStepRule = 'lines' | 'paragraphs' | 'numbered' | 'sentences';
export type StepRule = NamedStepRule | `tokens-${number}`;

export const namedStepRules: readonly NamedStepRule[] = ['lines', 'paragraphs', 'numbered', 'sentences'];

export interface TextStep extends Span {
	/** Trimmed text of the step. */
	readonly text: string;
}

/** Step in a completion: one step of its thinking, or its whole answer. */
export interface CompletionStep extends TextStep {
	readonly section: 'thinking' | 'answer';
}

/** Maximum number of steps; the last one contains the rest. */
const maxSteps = 5000;

/** Separators between steps. */
const marks: Readonly<Record<NamedStepRule, RegExp>> = {
	lines: /\n/g,
	paragraphs: /\n[^\S\n]*\n/g,
	/** Splits before a number at the start of a line; text before the first number is also a step. */
	numbered: /\n(?=[^\S\n]*(?:\*\*|#{1,6} )?(?:step[^\S\n]+\d{1,4}\b|\d{1,3}[.)][^\S\n]))/gi,
	/** Splits after sentence punctuation followed by whitespace, which keeps 3.5 intact. */
	sentences: /(?<=[.!?])\s+|(?<=[\u3002\uFF01\uFF1F])|\n+/g,
};

/** Returns the rule with the given name; null if unknown. */
export function stepRule(name: string): StepRule | null {
	if ((namedStepRules as readonly string[]).includes(name)) return name as StepRule;
	return /^tokens-[1-9]\d{0,5}$/.test(name) ? (name as StepRule) : null;
}

/** Returns the display name of a step: "sentence", "64 tokens". */
export function describeRule(rule: StepRule): string {
	const names = { lines: 'line', paragraphs: 'paragraph', numbered: 'numbered step', sentences: 'sentence' } as const;
	return (names as Record<string, string>)[rule] ?? `${rule.slice('tokens-'.length)} tokens`;
}

/**
 * Splits text into trimmed, nonempty steps. Offsets are UTF-16 code units in `text`.
 * @param tokens consecutive tokens of the text; `tokens-N` throws `missing` without them
 */
export function splitSteps(text: string, rule: StepRule, tokens?: readonly string[]): TextStep[] {
	const ends = rule.startsWith('tokens-') ? tokenEnds(text, Number(rule.slice(7)), tokens) : markEnds(text, rule);
	const steps: TextStep[] = [];
	let from = 0;
	for (const [i, { start, end }] of ends.entries()) {
		const last = steps.length === maxSteps - 1 || i === ends.length - 1;
		const step = trimmed(text, from, last ? text.length : start);
		if (step !== null) steps.push(step);
		if (last) break;
		from = end;
	}
	return steps;
}

function markEnds(text: string, rule: StepRule): Span[] {
	const ends: Span[] = [];
	for (const match of text.matchAll(marks[rule as NamedStepRule])) {
		ends.push({ start: match.index, end: match.index + match[0].length });
	}
	ends.push({ start: text.length, end: text.length });
	return ends;
}

function tokenEnds(text: string, size: number, tokens: readonly string[] | undefined): Span[] {
	if (tokens === undefined) {
		throw new Failure(
			'missing',
			'Cannot split by token count: the tokens of this completion were not recorded.',
			'Choose lines, paragraphs or sentences.',
		);
	}
	const ends: Span[] = [];
	let at = 0;
	for (const [i, token] of tokens.entries()) {
		at = Math.min(text.length, at + token.length);
		if ((i + 1) % size === 0 && at < text.length) ends.push({ start: at, end: at });
	}
	ends.push({ start: text.length, end: text.length });
	return ends;
}

function trimmed(text: string, from: number, to: number): TextStep | null {
	const part = text.slice(from, to);
	const content = part.trim();
	if (content === '') return null;
	const start = from + part.length - part.trimStart().length;
	return { start, end: start + content.length, text: content };
}

/**
 * Splits a completion into steps: its thinking according to the rule, then the whole answer section as the last step.
 * Tags are not part of any step. If the completion has no template tags, the whole text is split. Text outside both
 * sections is ignored.
 * @param tokens tokens of the completion, possibly including special tokens that are not in its text
 */
export function completionSteps(
	completion: string,
	tags: TraceTags,
	rule: StepRule,
	tokens?: readonly string[],
): CompletionStep[] {
	const { thinkSpan, answerSpan, tags: found } = parseTrace(completion, tags);
	const steps: CompletionStep[] = [];
	const within = ({ start, end }: Span, section: CompletionStep['section'], by: StepRule) => {
		for (const step of splitSteps(completion.slice(start, end), by, tokens && tokensOf(tokens, start, end))) {
			steps.push({ ...step, start: start + step.start, end: start + step.end, section });
		}
	};
	if (found.length === 0) {
		within({ start: 0, end: completion.length }, 'thinking', rule);
		return steps;
	}
	if (thinkSpan !== null) within(thinkSpan, 'thinking', rule);
	else if (answerSpan !== null && !tags.think) within({ start: 0, end: found[0]?.start ?? 0 }, 'thinking', rule);
	const answer = answerSpan === null ? null : trimmed(completion, answerSpan.start, answerSpan.end);
	if (answer !== null) steps.push({ ...answer, section: 'answer' });
	return steps.sort((a, b) => a.start - b.start);
}

/** Returns the parts of tokens that are inside a section. */
function tokensOf(tokens: readonly string[], start: number, end: number): string[] {
	const inside: string[] = [];
	let at = 0;
	for (const token of tokens) {
		const [from, to] = [Math.max(at, start), Math.min(at + token.length, end)];
		if (to > from) inside.push(token.slice(from - at, to - at));
		at += token.length;
	}
	return inside;
}
