import type { AbortSignalLike } from '../base/async.ts';
import type { EvaluationLine, EvaluationSummary } from '../protocol/evaluation.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import type { RolloutSplit } from '../protocol/rolloutSplit.ts';
import type { AnyRunRecord } from '../protocol/runRecord.ts';
import type { RunTailEvent } from './runTail.ts';

/** Which rollouts: those that were trained on, or those of evaluations during training. */
export type { RolloutSplit };

/**
 * Where a rollout lies. `offset` and `length` are the bytes of its record in a file of lines or events; in other files
 * (Parquet, a JSON or YAML file per episode) both are 0. `item` says which of the rollouts of that record, or of that
 * file, it is; only the reader of the format knows how.
 */
export interface RolloutPlace {
	/** Relative to the run folder, with `/`. */
	readonly file: string;
	readonly offset: number;
	readonly length: number;
	readonly item: number;
	/** Unique within step and split; where the format has no groups, inferred. */
	readonly group: number;
	/** Within the group. */
	readonly index: number;
}

/** What could not be read, and where. */
export interface RunFault {
	/** Relative to the run folder. */
	readonly file: string;
	/** From 1; null: the file as a whole, or one without lines. */
	readonly line: number | null;
	/** In words: "not JSON", "has no output". */
	readonly message: string;
	/** How many records were lost by it, where that is known; else 1. */
	readonly records: number;
}

export type PlacedRollout =
	| { readonly rollout: RolloutLine; readonly place: RolloutPlace; readonly fault: null }
	| { readonly rollout: null; readonly place: null; readonly fault: RunFault };

/** The rollouts of one step and split, opened for reading. */
export interface StepRollouts {
	/** Changes when a file of it is replaced, grows, comes or goes. */
	readonly identity: string;
	/** Everything in the order of the files; other work gets its turn in between. Fails with `cancelled`. */
	rollouts(signal?: AbortSignalLike): AsyncGenerator<PlacedRollout>;
	/** One of them by its place; fails with `corrupt` when the file has changed in the meantime. */
	rollout(place: RolloutPlace): Promise<RolloutLine>;
	close(): Promise<void>;
}

/** A run as the panels, the queries and the command line read it, whoever wrote it. Nothing is converted on disk. */
export interface RunContent {
	/** The folder that was recognized as a run. */
	readonly folder: string;
	/** `reasoning-lab`, or the name of the importer's format. */
	readonly format: string;
	/** Of a foreign run: made from what its files tell; `foreign` names the trainer. */
	record(): Promise<AnyRunRecord>;
	/** Steps that have rollouts, ascending. A format without steps has them all at `noStep`, and each with the step null. */
	steps(split?: RolloutSplit): Promise<number[]>;
	/** Whether the format records steps at all. */
	readonly hasSteps: boolean;
	/** Fails with `missing` when the step has none. */
	open(step: number, split?: RolloutSplit): Promise<StepRollouts>;
	/**
	 * In portions, ascending by step as far as the files are; names are canonical where the metric is the canonical one
	 * (src/core/metrics), else the trainer's own. Faults are collected in `faults`.
	 */
	metrics(signal?: AbortSignalLike): AsyncGenerator<MetricsLine[]>;
	/** The newest rows, for lists: cheap whatever the length of the run, so none where that is not to be had. */
	newest(): Promise<MetricsLine[]>;
	evaluations(): Promise<EvaluationSummary[]>;
	/** Samples of an evaluation, for paired tests; empty where the format keeps none. */
	evaluationLines(step: number, name: string): Promise<EvaluationLine[]>;
	/** Of what was read so far through this object. */
	readonly faults: readonly RunFault[];
}

/** Follows a run of any format; the same events for all of them. */
export interface RunFollower {
	readonly folder: string;
	onEvent(listener: (event: RunTailEvent) => void): { dispose(): void };
	start(): this;
	refresh(): Promise<void>;
	dispose(): void;
}
