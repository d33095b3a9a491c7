import type { ProblemSource } from '../dataset/problemSource.ts';
import { type Template, templateTags } from '../text/template.ts';

/** Upper bounds in tokens across all problems in a source. */
export interface SequenceLengths {
	/** bos plus the rendered prompt. */
	readonly prompt: number;
	/** Worked completion, including its tags and eos. */
	readonly completion: number;
}

export type SourceLimits = Pick<ProblemSource, 'maxPromptLength' | 'maxSolutionLength' | 'maxAnswerLength'>;

/** Counts the tokens in the template's own text, where each tag and each other character is one token. */
function frameTokens(template: Template): number {
	let frame = template.prompt.split('{prompt}').join('');
	// Replace each tag with a single character that does not occur in any tag.
	for (const tag of templateTags(template).sort((a, b) => b.length - a.length)) frame = frame.split(tag).join('\0');
	return [...frame].length;
}

export function sequenceLengths(limits: SourceLimits, template: Template): SequenceLengths {
	const problems = template.prompt.split('{prompt}').length - 1;
	const thought = template.think === null ? 0 : limits.maxSolutionLength;
	return {
		prompt: 1 + frameTokens(template) + problems * limits.maxPromptLength,
		completion: templateTags(template).length + thought + limits.maxAnswerLength + 1,
	};
}

/**
 * Returns a default completion length that leaves room to explore beyond the longest worked completion. Used if the
 * recipe does not set max_completion_length.
 */
export function defaultCompletionLength(lengths: SequenceLengths): number {
	return Math.ceil(lengths.completion * 1.2);
}

/** Returns the context size, in tokens, that prompts, worked completions, and sampled completions require. */
export function contextFor(
	lengths: SequenceLengths,
	maxCompletionLengths: readonly number[],
	teaches: boolean,
): number {
	return lengths.prompt + Math.max(...maxCompletionLengths, teaches ? lengths.completion : 1);
}
