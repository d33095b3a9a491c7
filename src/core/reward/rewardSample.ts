import type { ScoreRow } from '../../protocol/scorer.ts';
import { goldText } from '../dataset/answer.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/** Reward input for a row, with a lazily parsed completion. */
export interface RewardSample extends ScoreRow {
	readonly trace: Trace;
}

/** Returns the answer to score; null if there are none or several. */
export function answerOf(sample: RewardSample, tags: TraceTags): string | null {
	return soleAnswer(sample.trace, tags);
}

/**
 * Returns the thinking in a completion: the text between the think tags; without think tags, the text before the answer
 * tag; without any tags, the whole completion. null if the completion has no thinking.
 */
export function thinkingOf({ completion, trace }: RewardSample, tags: TraceTags): string | null {
	if (tags.think) return trace.think;
	if (!tags.answer) return completion;
	const [first] = trace.tags;
	return completion.slice(0, first?.start ?? completion.length);
}

/**
 * Returns the gold answers for a row as text, from the named column or the dataset answer. If the value is a list, its
 * items are alternatives. Returns an empty list if the row has no gold answers.
 */
export function goldTexts({ answer, row }: RewardSample, column?: string): string[] {
	const value = column === undefined ? answer : Object.hasOwn(row, column) ? row[column] : null;
	const texts = (Array.isArray(value) ? value : [value]).map(goldText);
	return texts.filter((text) => text !== null);
}
