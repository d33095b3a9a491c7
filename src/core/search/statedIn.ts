import { statedAnswers } from '../math/statedAnswer.ts';
import { parseTrace, soleAnswer } from '../trace/parseTrace.ts';
import type { TraceTags } from '../trace/trace.ts';

/**
 * Returns the answer stated in a completion, parsed as in the accuracy reward: the text in the single pair of answer
 * tags or, without such tags, the answer at the end. null if there is no answer or more than one.
 */
export function statedIn(completion: string, tags: TraceTags): string | null {
	const sole = soleAnswer(parseTrace(completion, tags), tags);
	if (sole === null) return null;
	return statedAnswers(sole, tags.answer !== null)[0] ?? (tags.answer === null ? null : sole);
}
