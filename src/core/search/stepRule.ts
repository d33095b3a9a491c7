import { Failure } from '../../base/failure.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { StepSplit } from './search.ts';

/** How one step is asked for, and where it ends in what came. */
export interface StepRule {
	/** Texts that a policy is asked to stop at; they belong to the step. */
	readonly stops: readonly string[];
	/** Tokens of a step, where the rule is about tokens; null: it is not. */
	readonly tokens: number | null;
	/** Where the first step of a text ends, what divides it from the next included; -1: it is not at its end. */
	end(text: string): number;
	/**
	 * It is no step yet: white space, tags that open something or end the thinking and ends of steps say nothing, and an answer
	 * is to be closed. It belongs to the next.
	 */
	empty(text: string): boolean;
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/**
 * A rule by where the next end stands, at or after a place; -1: nowhere. A step says something and leaves no answer open: what
 * closes it would be a step that says nothing.
 * @param nothings texts besides white space that say nothing
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
 * The rule of a split; null: a step is all that is left. `invalid` when there is no rule of that name.
 * @param tags of completions: a line that holds nothing else is no step. What closes an answer is one: it ends the completion.
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
			// Servers take four stop texts at most; full stops of other scripts are found in what comes.
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
