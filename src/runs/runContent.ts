import type { AbortSignalLike } from '../base/async.ts';
import type { EvaluationLine, EvaluationSummary } from '../protocol/evaluation.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import type { RolloutSplit } from '../protocol/rolloutSplit.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import type { RunTailEvent } from './runTail.ts';

/** Set of rollouts: those used for training, or those from evaluations during training. */
export type { RolloutSplit };

/**
 * Location of a rollout. `offset` and `length` are the byte range of its record in a line-based or event file; both are
 * 0 in other files (Parquet, or one JSON or YAML file per episode). `item` selects one of several rollouts in that
 * record or file; its meaning is private to the format's reader.
 */
export interface RolloutPlace {
	/** Path relative to the run folder, with `/` as the separator. */
	readonly file: string;
	readonly offset: number;
	readonly length: number;
	readonly item: number;
	/** Unique within step and split; inferred if the format has no groups. */
	readonly group: number;
	/** Index within the group. */
	readonly index: number;
}

/** Something that could not be read, with its location. */
export interface RunFault {
	/** Path relative to the run folder. */
	readonly file: string;
	/** Line number, starting at 1; null for the whole file, or for a file without lines. */
	readonly line: number | null;
	/** Description of the problem: "invalid JSON", "has no output". */
	readonly message: string;
	/** Number of records lost, or 1 if unknown. */
	readonly records: number;
}

export type PlacedRollout =
	| { readonly rollout: RolloutLine; readonly place: RolloutPlace; readonly fault: null }
	| { readonly rollout: null; readonly place: null; readonly fault: RunFault };

/** The rollouts in one step and split, opened for reading. */
export interface StepRollouts {
	/** Changes when one of the files is replaced, grows, appears or disappears. */
	readonly identity: string;
	/** Yields all rollouts in file order, giving other work a chance to run in between. Fails with `cancelled`. */
	rollouts(signal?: AbortSignalLike): AsyncGenerator<PlacedRollout>;
	/**
	 * Like `rollouts`, for callers that need no text: if a large file contains a list that describes its rollouts, they
	 * are taken from the list, with an empty completion and a shortened prompt. Absent if the format has no such lists.
	 */
	overview?(signal?: AbortSignalLike): AsyncGenerator<PlacedRollout>;
	/**
	 * Files that contain the text of all completions as JSON strings; absent or null if it is stored differently. `calls`:
	 * whether completions can contain calls, whose arguments are JSON with variable formatting.
	 */
	readonly textFiles?: { readonly paths: readonly string[]; readonly calls: boolean } | null;
	/** Returns the rollout at a location; fails with `corrupt` if the file has changed in the meantime. */
	rollout(place: RolloutPlace): Promise<RolloutLine>;
	close(): Promise<void>;
}

/** A run from any trainer, as read by panels, queries and the command line. Nothing is converted on disk. */
export interface RunContent {
	/** Folder that was recognized as a run. */
	readonly folder: string;
	/** `reasoning-lab`, or the name of the importer's format. */
	readonly format: string;
	/** Returns the run record. For a foreign run, it is built from the files, and `foreign` names the trainer. */
	record(): Promise<AnyRunRecord>;
	/**
	 * Returns the steps with rollouts, ascending. In a format without steps, all rollouts are at `noStep`, each with step
	 * null.
	 */
	steps(split?: RolloutSplit): Promise<number[]>;
	/** Whether the format records steps. */
	readonly hasSteps: boolean;
	/** Fails with `missing` if the step has no rollouts. */
	open(step: number, split?: RolloutSplit): Promise<StepRollouts>;
	/**
	 * Yields metrics in batches, in ascending step order if the files are in that order. Names are canonical for metrics
	 * that have a canonical equivalent (src/core/metrics), and the trainer's own otherwise. Faults are collected in
	 * `faults`.
	 */
	metrics(signal?: AbortSignalLike): AsyncGenerator<MetricsLine[]>;
	/** Returns the latest rows, for lists. Cheap regardless of run length; empty if they cannot be read cheaply. */
	newest(): Promise<MetricsLine[]>;
	evaluations(): Promise<EvaluationSummary[]>;
	/** Returns the samples of an evaluation, for paired tests; empty if the format does not store them. */
	evaluationLines(step: number, name: string): Promise<EvaluationLine[]>;
	/** Faults found so far in data read through this object. */
	readonly faults: readonly RunFault[];
}

/** Follows a run in any format, with the same events for all formats. */
export interface RunFollower {
	readonly folder: string;
	onEvent(listener: (event: RunTailEvent) => void): { dispose(): void };
	start(): this;
	refresh(): Promise<void>;
	dispose(): void;
}
