import type { TraceTags } from '../../src/core/trace/trace.ts';
import { noTags } from '../lib/trace/completionTrace.ts';

const reasoningTags: TraceTags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] };

/** The usual tags where a completion has any of them: of one without, nothing is set apart. */
export function tagsOf(completion: string): TraceTags {
	return /<\/?(?:think|answer)>/.test(completion) ? reasoningTags : noTags;
}
