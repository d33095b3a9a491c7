import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** A rollout from a foreign record; the run reader assigns step, group and index. */
export interface ForeignRollout {
	readonly prompt: RolloutLine['prompt'];
	readonly completion: RolloutLine['completion'];
	readonly answer?: unknown;
	readonly row?: unknown;
	/** Non-finite values count as null. */
	readonly reward: number | null;
	readonly tokens?: RolloutLine['tokens'];
	readonly parents?: RolloutLine['parents'];
	readonly extra?: RolloutLine['extra'];
	/** Step in the record, if the file name has none. */
	readonly step?: number | null;
	/**
	 * Identifies the rollouts of one group within a step: the recorded group id or, if the format has none, the prompt.
	 */
	readonly groupKey: string | number;
	/** Component rewards with the trainer's names; empty if only the total is recorded. */
	readonly rewards?: Readonly<Record<string, number | null>>;
	readonly advantage?: number | null;
	/** null or absent: not recorded. */
	readonly truncated?: boolean | null;
	/** Why this part of a record is invalid, such as "has no id". The part is skipped and counted. */
	readonly fault?: string;
	/** Defaults to `train`, or `validation` depending on the file's split. */
	readonly stage?: string;
}

export interface ForeignMetrics {
	readonly step: number;
	/** Seconds since the epoch; null if not recorded. */
	readonly time: number | null;
	/** Values, keyed by the trainer's own names; non-finite values are null. */
	readonly values: Readonly<Record<string, number | null>>;
	readonly stage?: string;
}
