import type { TraceTags } from '../../src/core/trace/trace.ts';
import { noTags } from '../lib/trace/completionTrace.ts';

const reasoningTags: TraceTags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] };

/**
 * Returns the default tags if the completion contains any of them. Otherwise, the completion is not split into parts.
 */
export function tagsOf(completion: string): TraceTags {
	return /<\/?(?:think|answer)>/.test(completion) ? reasoningTags : noTags;
}
