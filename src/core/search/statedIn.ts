import { statedAnswers } from '../math/statedAnswer.ts';
import { parseTrace, soleAnswer } from '../trace/parseTrace.ts';
import type { TraceTags } from '../trace/trace.ts';

/**
 * The answer that a completion states, as the accuracy reward reads it: what stands between the one pair of answer tags, or,
 * without such tags, what the end says. null: it states none, or several.
 */
export function statedIn(completion: string, tags: TraceTags): string | null {
	const sole = soleAnswer(parseTrace(completion, tags), tags);
	if (sole === null) return null;
	return statedAnswers(sole, tags.answer !== null)[0] ?? (tags.answer === null ? null : sole);
}
