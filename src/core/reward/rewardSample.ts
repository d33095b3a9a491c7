import type { ScoreRow } from '../../protocol/scorer.ts';
import { goldText } from '../dataset/answer.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/** A row as rewards see it: with its completion taken apart (on first use). */
export interface RewardSample extends ScoreRow {
	readonly trace: Trace;
}

/** The answer that may be judged; null: there is none, or there are several. */
export function answerOf(sample: RewardSample, tags: TraceTags): string | null {
	return soleAnswer(sample.trace, tags);
}

/**
 * The thinking of a completion: what stands between the think tags; with a template that has none, what stands before the
 * answer tag; without any tags, the whole completion. null: the completion has no thinking.
 */
export function thinkingOf({ completion, trace }: RewardSample, tags: TraceTags): string | null {
	if (tags.think) return trace.think;
	if (!tags.answer) return completion;
	const [first] = trace.tags;
	return completion.slice(0, first?.start ?? completion.length);
}

/** The gold texts of a row: of a column if one is named, else the dataset's answer. A list offers several; empty: none. */
export function goldTexts({ answer, row }: RewardSample, column?: string): string[] {
	const value = column === undefined ? answer : Object.hasOwn(row, column) ? row[column] : null;
	const texts = (Array.isArray(value) ? value : [value]).map(goldText);
	return texts.filter((text) => text !== null);
}
