import type { ScoreRow } from '../../protocol/scorer.ts';
import { goldText } from '../dataset/answer.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/** A row as input of rewards: with its completion parsed on first use. */
export interface RewardSample extends ScoreRow {
	readonly trace: Trace;
}

/** The answer to judge; null if there is none, or several. */
export function answerOf(sample: RewardSample, tags: TraceTags): string | null {
	return soleAnswer(sample.trace, tags);
}

/**
 * The thinking of a completion: the text between the think tags; if the template has none, the text before the answer
 * tag; without any tags, the whole completion. null if the completion has no thinking.
 */
export function thinkingOf({ completion, trace }: RewardSample, tags: TraceTags): string | null {
	if (tags.think) return trace.think;
	if (!tags.answer) return completion;
	const [first] = trace.tags;
	return completion.slice(0, first?.start ?? completion.length);
}

/**
 * The gold texts of a row: from the named column, otherwise the answer of the dataset. A list offers several; empty if
 * there are none.
 */
export function goldTexts({ answer, row }: RewardSample, column?: string): string[] {
	const value = column === undefined ? answer : Object.hasOwn(row, column) ? row[column] : null;
	const texts = (Array.isArray(value) ? value : [value]).map(goldText);
	return texts.filter((text) => text !== null);
}
