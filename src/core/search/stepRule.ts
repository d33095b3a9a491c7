import { Failure } from '../../base/failure.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { StepSplit } from './search.ts';

/** How a single step is requested, and where it ends in a reply. */
export interface StepRule {
	/** Stop texts for the policy; they belong to the step. */
	readonly stops: readonly string[];
	/** Tokens per step if the rule counts tokens, otherwise null. */
	readonly tokens: number | null;
	/** Offset of the end of the first step, including its separator; -1 if the text contains no end. */
	end(text: string): number;
	/**
	 * Whether it is not a step yet: whitespace, opening tags, the end of thinking and step separators are empty, and an
	 * answer must be closed. It becomes part of the next step.
	 */
	empty(text: string): boolean;
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/**
 * Builds a rule from a function that finds the next end at or after an offset; -1: none. A step is not empty and leaves
 * no answer open, because the closing tag alone would be an empty step.
 * @param nothings texts besides whitespace that count as empty
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
 * Returns the rule of a split; null if a step is the whole rest. Throws `invalid` for an unknown rule.
 * @param tags of completions: a line with only a tag is not a step. The closing answer tag is one, because it ends the
 * completion.
 */
export function stepRuleOf(split: StepSplit, tags: TraceTags = { think: null, answer: null }): StepRule | null {
	const tagTexts = [tags.think?.[0], tags.think?.[1], tags.answer?.[0]];
	if (typeof split === 'object') {
		const { text } = split;
		if (text === '') throw new Failure('invalid', 'The text that ends a step is empty.');
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
		case 'lines':
			return byPattern(['\n'], /\n/g);
		case 'paragraphs':
			return byPattern(['\n\n'], /\n[^\S\n]*\n/g);
		case 'sentences':
			// Servers accept at most four stop texts; full stops of other scripts are found in the reply.
			return byPattern(['. ', '? ', '! ', '\n'], /(?<=[.!?])[^\S\n]+|(?<=[\u3002\uFF01\uFF1F])|\n/g);
	}
	const size = /^tokens-([1-9]\d{0,5})$/.exec(split)?.[1];
	if (size === undefined) {
		throw new Failure(
			'invalid',
			`Unknown rule "${split}" for splitting a completion into steps.`,
			'Choose lines, paragraphs, sentences, tokens-64 (or another number), completion, or text=TEXT for the text that ends a step.',
		);
	}
	return { stops: [], tokens: Number(size), end: () => -1, empty: (text) => text.trim() === '' };
}
