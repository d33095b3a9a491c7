import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** A rollout as a foreign record tells it; step, group and index are given by the reader of the run. */
export interface ForeignRollout {
	readonly prompt: RolloutLine['prompt'];
	readonly completion: RolloutLine['completion'];
	readonly answer?: unknown;
	readonly row?: unknown;
	/** What is not finite is taken for null. */
	readonly reward: number | null;
	readonly tokens?: RolloutLine['tokens'];
	readonly parents?: RolloutLine['parents'];
	readonly extra?: RolloutLine['extra'];
	/** The record's own step, where the file's name has none. */
	readonly step?: number | null;
	/**
	 * What the rollouts of one group share within a step: the recorded group id or, where the format has none, the prompt.
	 */
	readonly groupKey: string | number;
	/** Component rewards by the trainer's names; empty where only the total is recorded. */
	readonly rewards?: Readonly<Record<string, number | null>>;
	readonly advantage?: number | null;
	/** null or absent: not recorded. */
	readonly truncated?: boolean | null;
	/** Absent: `train`, or `validation` by the split of its file. */
	readonly stage?: string;
}

export interface ForeignMetrics {
	readonly step: number;
	/** Seconds since the epoch; null: not recorded. */
	readonly time: number | null;
	/** By the trainer's own names; what is not finite is null. */
	readonly values: Readonly<Record<string, number | null>>;
	readonly stage?: string;
}
