import { Failure } from '../../base/failure.ts';
import type { StepSplit } from './search.ts';

/** How one step is asked for, and where it ends in what came. */
export interface StepRule {
	/** Texts that a policy is asked to stop at; they belong to the step. */
	readonly stops: readonly string[];
	/** Tokens of a step, where the rule is about tokens; null: it is not. */
	readonly tokens: number | null;
	/** Where the first step of a text ends, what divides it from the next included; -1: it is not at its end. */
	end(text: string): number;
}

const byPattern = (stops: readonly string[], pattern: RegExp): StepRule => ({
	stops,
	tokens: null,
	end(text) {
		// Nothing but white space is no step: its end belongs to the step that follows.
		const from = text.length - text.trimStart().length;
		if (from === text.length) return -1;
		pattern.lastIndex = from;
		const match = pattern.exec(text);
		return match === null ? -1 : match.index + match[0].length;
	},
});

/** The rule of a split; null: a step is all that is left. `invalid` when there is no rule of that name. */
export function stepRuleOf(split: StepSplit): StepRule | null {
	if (typeof split === 'object') {
		const { text } = split;
		if (text === '') throw new Failure('invalid', 'The text that ends a step is empty.');
		return {
			stops: [text],
			tokens: null,
			end(whole) {
				const at = whole.indexOf(text);
				return at < 0 ? -1 : at + text.length;
			},
		};
	}
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
			`There is no rule "${split}" that cuts a completion into steps.`,
			'Choose lines, paragraphs, sentences, tokens-64 (or another number), completion, or a text that ends a step.',
		);
	}
	return { stops: [], tokens: Number(size), end: () => -1 };
}
