/**
 * Types for authors of reward files (`NAME.reward.ts`) of Reasoning Lab. They contain no code, so import them as types:
 *
 *     /// <reference path="reasoning-lab.d.ts" />
 *     import type { Reward } from 'reasoning-lab';
 */
declare module 'reasoning-lab' {
	/** A part of the completion: UTF-16 code units from `start` up to and without `end`. */
	export interface Span {
		readonly start: number;
		readonly end: number;
	}

	/** A tag of the template where it stands in the completion. */
	export interface TagMark extends Span {
		readonly section: 'think' | 'answer';
		readonly kind: 'open' | 'close';
	}

	/** Where the completion departs from the template. */
	export interface TraceFault extends Span {
		readonly reason: 'missing' | 'repeated' | 'unclosed' | 'unopened' | 'nested' | 'reordered' | 'outside' | 'empty';
		/** One sentence for a person. */
		readonly message: string;
	}

	/** A completion taken apart by the tags of the template. */
	export interface Trace {
		/** Text of the first think section, even if it was never closed; null: none was opened. */
		readonly think: string | null;
		readonly thinkSpan: Span | null;
		/** Text of the first answer section, even if it was never closed; null: none was opened. */
		readonly answer: string | null;
		readonly answerSpan: Span | null;
		/** Every tag in the order of the text. */
		readonly tags: readonly TagMark[];
		/** Empty: the completion has the template's form exactly. At most 100 are listed. */
		readonly faults: readonly TraceFault[];
	}

	/** A message of a conversational dataset. */
	export interface ChatMessage {
		readonly role: string;
		readonly content: string | null;
	}

	/** One completion that is scored. `Row`: the columns of the dataset. */
	export interface Sample<Row = Readonly<Record<string, unknown>>> {
		/** What the model was asked, as it read it. */
		readonly prompt: string;
		/** What it wrote, tags included. */
		readonly completion: string;
		/** The gold answer; null where the dataset has none. */
		readonly answer: unknown;
		/** The row of the dataset. */
		readonly row: Row;
		/** The completion taken apart; done when it is first asked for. */
		readonly trace: Trace;
		/** The completion did not end by itself: it reached the longest length. null: not recorded. */
		readonly truncated: boolean | null;
		/** The tokens of the completion, where they are known. */
		readonly completionIds?: readonly number[];
		/** Of conversational data: both sides as lists of messages. */
		readonly messages?: {
			readonly prompt: readonly ChatMessage[];
			readonly completion: readonly ChatMessage[];
		};
	}

	/** A finite number; null: the reward does not apply to this sample, and is left out of its sum. */
	export type RewardValue = number | null;

	/** What a reward file may say of a reward: `brevity.weight = 0.1`. */
	export interface RewardProperties {
		/** Proposed weight in the sum; the recipe's wins. */
		weight?: number;
		/** The reward looks at the whole batch: when it fails, its samples are not tried one by one. */
		batchOnly?: boolean;
	}

	/**
	 * A reward of one sample. Every exported function of a reward file is one:
	 * `export const brevity: Reward = ({ completion }) => Math.min(1, 200 / completion.length);`
	 */
	export interface Reward<Row = Readonly<Record<string, unknown>>> extends RewardProperties {
		(sample: Sample<Row>): RewardValue | Promise<RewardValue>;
	}

	/**
	 * A reward of a whole batch, one value a sample, in their order:
	 * `export const rank: BatchReward = Object.assign((samples: readonly Sample[]) => samples.map(() => 0), { batch: true as const });`
	 */
	export interface BatchReward<Row = Readonly<Record<string, unknown>>> extends RewardProperties {
		(samples: readonly Sample<Row>[]): readonly RewardValue[] | Promise<readonly RewardValue[]>;
		readonly batch: true;
	}
}
