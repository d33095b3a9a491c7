import type { ScoreRow } from '../../protocol/scorer.ts';
import { goldText } from '../dataset/answer.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';
import type { PolicyTurn } from './policyTurns.ts';

/**
 * Reward input for a row, with a lazily parsed completion. In a conversation, the completion is the policy's last
 * message, so tool results are not scored as the policy's output.
 */
export interface RewardSample extends ScoreRow {
	readonly trace: Trace;
	/** Everything that the policy wrote, by message, if the completion is a conversation. */
	readonly turns?: readonly PolicyTurn[];
}

/** Returns everything that the policy wrote; in a conversation, its messages separated by line breaks. */
export function writtenText({ completion, turns }: RewardSample): string {
	return turns === undefined ? completion : turns.map((turn) => turn.completion).join('\n');
}

/** Returns the answer to score; null if there are none or several. */
export function answerOf(sample: RewardSample, tags: TraceTags): string | null {
	return soleAnswer(sample.trace, tags);
}

/**
 * Returns the thinking in a completion: the text between the think tags; without think tags, the text before the answer
 * tag; without any tags, the whole completion. In a conversation, the thinking in all of the policy's messages,
 * separated by line breaks. null if there is no thinking.
 */
export function thinkingOf(sample: RewardSample, tags: TraceTags): string | null {
	if (sample.turns === undefined) return thinkingIn(sample, tags);
	const texts = sample.turns.map((turn) => thinkingIn(turn, tags)).filter((text) => text !== null);
	return texts.length === 0 ? null : texts.join('\n');
}

function thinkingIn({ completion, trace }: PolicyTurn, tags: TraceTags): string | null {
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
