/**
 * Types for Reasoning Lab reward files (`NAME.reward.ts`). They contain no code, so use type-only imports:
 *
 *     /// <reference path="reasoning-lab.d.ts" />
 *     import type { Reward } from 'reasoning-lab';
 */
declare module 'reasoning-lab' {
	/** A range of UTF-16 code units in the completion, from `start` (inclusive) to `end` (exclusive). */
	export interface Span {
		readonly start: number;
		readonly end: number;
	}

	/** A template tag found in the completion. */
	export interface TagMark extends Span {
		readonly section: 'think' | 'answer';
		readonly kind: 'open' | 'close';
	}

	/** A format error: a range where the completion deviates from the template. */
	export interface TraceFault extends Span {
		readonly reason: 'missing' | 'repeated' | 'unclosed' | 'unopened' | 'nested' | 'reordered' | 'outside' | 'empty';
		/** One-sentence description. */
		readonly message: string;
	}

	/** A completion parsed into the sections of the template. */
	export interface Trace {
		/** Text of the first think section, even if it was never closed, or null if none was opened. */
		readonly think: string | null;
		readonly thinkSpan: Span | null;
		/** Text of the first answer section, even if it was never closed, or null if none was opened. */
		readonly answer: string | null;
		readonly answerSpan: Span | null;
		/** All tags in text order. */
		readonly tags: readonly TagMark[];
		/** Format errors, at most 100. Empty if the completion matches the template exactly. */
		readonly faults: readonly TraceFault[];
	}

	/** A message in a conversation, with any additional fields from the trainer or dataset, such as `tool_calls`. */
	export interface ChatMessage {
		readonly role: string;
		readonly content: string | null;
		readonly [field: string]: unknown;
	}

	/** The model's output in one message of a conversation. */
	export interface PolicyTurn {
		readonly completion: string;
		readonly trace: Trace;
	}

	/** A completion to score. `Row` contains the dataset columns. */
	export interface Sample<Row = Readonly<Record<string, unknown>>> {
		/** The prompt as the model received it. */
		readonly prompt: string;
		/** The model's output, including tags. In a conversation, the model's last message. */
		readonly completion: string;
		/** Gold answer, or null if the dataset has none. */
		readonly answer: unknown;
		/** Dataset row. */
		readonly row: Row;
		/** Parsed completion. Computed on first access. */
		readonly trace: Trace;
		/**
		 * Whether the completion was truncated at the maximum length instead of ending on its own, or null if not
		 * recorded.
		 */
		readonly truncated: boolean | null;
		/** Token IDs of the completion, if known. */
		readonly completionIds?: readonly number[];
		/** For conversational data and episodes: prompt and completion as message lists. */
		readonly messages?: {
			readonly prompt: readonly ChatMessage[];
			readonly completion: readonly ChatMessage[];
		};
		/** For conversational data and episodes: the model's entire output, by message. Tool results are omitted. */
		readonly turns?: readonly PolicyTurn[];
	}

	/** A finite number, or null if the reward does not apply to this sample and should be excluded from its total. */
	export type RewardValue = number | null;

	/** Properties that a reward file can set on a reward: `brevity.weight = 0.1`. */
	export interface RewardProperties {
		/** Default weight in the total. A weight in the recipe takes precedence. */
		weight?: number;
		/** Whether the reward needs the whole batch. If it fails, its samples are not retried one by one. */
		batchOnly?: boolean;
	}

	/**
	 * A reward that scores one sample. Every function exported from a reward file is a reward: `export const brevity:
	 * Reward = ({ completion }) => Math.min(1, 200 / completion.length);`
	 */
	export interface Reward<Row = Readonly<Record<string, unknown>>> extends RewardProperties {
		(sample: Sample<Row>): RewardValue | Promise<RewardValue>;
	}

	/**
	 * A reward that scores a whole batch and returns one value per sample, in order: `export const rank: BatchReward =
	 * Object.assign((samples: readonly Sample[]) => samples.map(() => 0), { batch: true as const });`
	 */
	export interface BatchReward<Row = Readonly<Record<string, unknown>>> extends RewardProperties {
		(samples: readonly Sample<Row>[]): readonly RewardValue[] | Promise<readonly RewardValue[]>;
		readonly batch: true;
	}
}
