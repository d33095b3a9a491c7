import type { ProblemSource } from '../dataset/problemSource.ts';
import { type Template, templateTags } from '../text/template.ts';

/** Upper bounds in tokens over all problems of a source. */
export interface SequenceLengths {
	/** bos and the rendered prompt. */
	readonly prompt: number;
	/** The worked completion with its tags and eos. */
	readonly completion: number;
}

export type SourceLimits = Pick<ProblemSource, 'maxPromptLength' | 'maxSolutionLength' | 'maxAnswerLength'>;

/** Tokens of the template's own text: a tag is one, any other character is one. */
function frameTokens(template: Template): number {
	let frame = template.prompt.split('{prompt}').join('');
	// Each tag leaves one character behind, one that no tag holds.
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

/** Room to explore beyond the longest worked completion, when the recipe sets no max_completion_length. */
export function defaultCompletionLength(lengths: SequenceLengths): number {
	return Math.ceil(lengths.completion * 1.2);
}

/** The context that prompt, worked completions and sampled completions need, in tokens. */
export function contextFor(
	lengths: SequenceLengths,
	maxCompletionLengths: readonly number[],
	teaches: boolean,
): number {
	return lengths.prompt + Math.max(...maxCompletionLengths, teaches ? lengths.completion : 1);
}
