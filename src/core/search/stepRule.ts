import { Failure } from '../../base/failure.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { StepSplit } from './search.ts';

/** Rule for requesting a single step and finding where it ends in a reply. */
export interface StepRule {
	/** Stop strings for the policy; they are part of the step. */
	readonly stops: readonly string[];
	/** Tokens per step if the rule counts tokens; null otherwise. */
	readonly tokens: number | null;
	/** Returns the end offset of the first step, including its separator; -1 if the text has no complete step. */
	end(text: string): number;
	/**
	 * Returns whether text counts as empty and becomes part of the next step. Whitespace, opening tags, the end of
	 * thinking and step separators count as empty; an answer must be closed.
	 */
	empty(text: string): boolean;
}

/** Stop string that requests a single turn from a policy that plays episodes. It never occurs in text. */
export const turnStop = '\u0000turn';

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/**
 * Builds a rule from a function that returns the next end at or after an offset, or -1. A step is never empty and never
 * leaves an answer open, because the closing tag alone would be an empty step.
 * @param nothings strings in addition to whitespace that count as empty
 */
function ruleBy(
	stops: readonly string[],
	nothings: readonly (string | undefined)[],
	{ answer }: TraceTags,
	next: (text: string, from: number) => number,
): StepRule {
	const texts = nothings.filter((text) => text !== undefined && text !== '') as string[];
	const pattern = new RegExp(`(?:${['\\s+', ...texts.map(escaped)].join('|')})*`, 'y');
	const lead = (text: string): number => {
		pattern.lastIndex = 0;
		return pattern.exec(text)?.[0].length ?? 0;
	};
	const answering = (text: string): boolean =>
		answer !== null && text.lastIndexOf(answer[0]) > text.lastIndexOf(answer[1]);
	return {
		stops,
		tokens: null,
		end(text) {
			for (let at = lead(text); at < text.length; ) {
				const end = next(text, at);
				if (end < 0 || !answering(text.slice(0, end))) return end;
				at = Math.max(end, at + 1);
			}
			return -1;
		},
		empty: (text) => lead(text) === text.length || answering(text),
	};
}

/**
 * Returns the rule for a split; null if a step extends to the end of the completion. Throws `invalid` for an unknown
 * rule.
 * @param tags completion tags; a line that contains only a tag is not a step, except for the closing answer tag, which
 * ends the completion
 */
export function stepRuleOf(split: StepSplit, tags: TraceTags = { think: null, answer: null }): StepRule | null {
	const tagTexts = [tags.think?.[0], tags.think?.[1], tags.answer?.[0]];
	if (typeof split === 'object') {
		const { text } = split;
		if (text === '') throw new Failure('invalid', 'The step separator is empty.');
		return ruleBy([text], [...tagTexts, text === tags.answer?.[1] ? undefined : text], tags, (whole, from) => {
			const at = whole.indexOf(text, from);
			return at < 0 ? -1 : at + text.length;
		});
	}
	const byPattern = (stops: readonly string[], pattern: RegExp) =>
		ruleBy(stops, tagTexts, tags, (text, from) => {
			pattern.lastIndex = from;
			const match = pattern.exec(text);
			return match === null ? -1 : match.index + match[0].length;
		});
	switch (split) {
		case 'completion':
			return null;
		case 'turns':
			return { stops: [turnStop], tokens: null, end: () => -1, empty: () => false };
		case 'lines':
			return byPattern(['\n'], /\n/g);
		case 'paragraphs':
			return byPattern(['\n\n'], /\n[^\S\n]*\n/g);
		case 'sentences':
			// Servers accept at most four stop strings; periods in other scripts are detected in the reply.
			return byPattern(['. ', '? ', '! ', '\n'], /(?<=[.!?])[^\S\n]+|(?<=[\u3002\uFF01\uFF1F])|\n/g);
	}
	const size = /^tokens-([1-9]\d{0,5})$/.exec(split)?.[1];
	if (size === undefined) {
		throw new Failure(
			'invalid',
			`Unknown step split "${split}".`,
			'Choose lines, paragraphs, sentences, tokens-64 (or another number), completion, or text=TEXT for a custom step separator.',
		);
	}
	return { stops: [], tokens: Number(size), end: () => -1, empty: (text) => text.trim() === '' };
}
