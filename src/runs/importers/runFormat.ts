import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { RolloutSplit } from '../../protocol/rolloutSplit.ts';
import type { FolderView } from './folderView.ts';
import type { ForeignMetrics, ForeignRollout } from './foreignRecord.ts';

/** How a file is cut into records. */
export type FileForm =
	/** One JSON value a line, split at \n alone; a bare NaN reads as null. */
	| 'jsonl'
	/** One record: the file. */
	| 'json'
	| 'yaml'
	/** One record a row: an object by column. */
	| 'parquet'
	/** TensorBoard event file: one record an event, `{ step, time, tag, value | text }`. */
	| 'events';

/** What a reader of one record knows beside it. */
export interface RecordContext {
	/** Relative to the run folder. */
	readonly file: string;
	/** What the pattern's `{name}` parts matched: `step`, `source`, `split`. */
	readonly parts: Readonly<Record<string, string>>;
	/** `parts.step` as a number; null where the pattern has none. */
	readonly step: number | null;
	/** From 0, in the file. */
	readonly record: number;
	/** What the format's `learn` found in the folder. */
	readonly learnt?: unknown;
	/** What a companion file tells by key; absent: the files have none, or it does not exist. */
	readonly companion?: (key: string) => unknown;
}

/**
 * A file that tells more of the rollouts of another: of the same step, read before it. `pattern` names one file, by the
 * parts of the other's path ("iteration_{step}/train_logtree.json", as written there).
 */
export interface CompanionFile {
	readonly pattern: string;
	readonly form: FileForm;
	readonly largest?: number;
	/** What it tells, by key; small, for all of it is kept while the step is open. Never throws. */
	entries(record: unknown): Iterable<readonly [key: string, value: unknown]>;
}

/**
 * Files of one kind in a run. `pattern` is relative to the run folder: `{name}` matches within one segment, `{step}`
 * digits, `**` any folders: "rollouts/{step}.jsonl".
 */
interface Files {
	readonly pattern: string;
	readonly form: FileForm;
	/** Larger files are a fault; default by form. Files of lines and Parquet are read in portions whatever their size. */
	readonly largest?: number;
	/** Which of the files that the pattern matches; absent: all. */
	accepts?(parts: Readonly<Record<string, string>>): boolean;
}

export interface RolloutFiles extends Files {
	readonly split: RolloutSplit;
	/** Whether a file has rollouts of this split, where that is known from what the format's `learn` found; absent: it has. */
	holds?(path: string, learnt: unknown): boolean;
	/** What of `learned` a file's rollouts depend on, as text: they are read again when it changes. */
	dependsOn?(path: string, learnt: unknown): string;
	/** Passed over where one of these files is there: other copies of the same rollouts, by the parts of this path. */
	readonly unlessThere?: readonly string[];
	readonly companion?: CompanionFile;
	/**
	 * Which rollouts of a step make a group: those of one `groupKey` (the default), or only those that follow each other
	 * with one key; neighbouring groups of one key are distinguished by the size that all groups of the file share.
	 */
	readonly grouping?: 'key' | 'consecutive';
	/** The rollouts in a record; a sentence part such as "has no output" where it is none. Never throws. */
	rollouts(record: unknown, context: RecordContext): readonly ForeignRollout[] | string;
}

export interface MetricFiles extends Files {
	/** Each file repeats all rows of those of earlier steps, so that only the newest readable one is read. */
	readonly cumulative?: boolean;
	/** Rows of metrics in a record; rows of one step are merged, later values win. Never throws. */
	metrics(record: unknown, context: RecordContext): readonly ForeignMetrics[] | string;
}

/** One trainer's format, told declaratively; everything else is done by the same code for all. */
export interface RunFormat {
	/** `trl`, `verl`, ...: as in docs/formats.md and in the catalog of metrics. */
	readonly name: string;
	/** For a person: "TRL". */
	readonly title: string;
	/** What a folder must hold, in words, for the sentence that says what was looked for. */
	readonly looksFor: string;
	/** False: the format has no steps (an evaluation): all rollouts lie at `noStep`. */
	readonly hasSteps: boolean;
	readonly rollouts: readonly RolloutFiles[];
	readonly metrics: readonly MetricFiles[];
	/** What the format does not record and what is inferred instead, a sentence each. */
	readonly notes: readonly string[];
	/**
	 * Whether a folder is a run of this format: from names, and from the beginnings of a few files where names do not
	 * settle it. Cheap; called for every folder that is looked through.
	 */
	recognise(folder: FolderView): Promise<boolean>;
	/** What records alone do not tell, such as which columns are rewards: handed to their readers as `learned`. */
	learn?(folder: FolderView, evidence: RunEvidence): Promise<unknown>;
	/** What the folder's other files tell of the run, for run.json's fields; each may be absent. */
	describe?(folder: FolderView, learnt: unknown): Promise<RunFacts>;
}

/** What `learn` may read beside names and small files. */
export interface RunEvidence {
	/** All rows of metrics, merged by step. */
	metrics(): Promise<readonly MetricsLine[]>;
	/** The first records of a file that can be read. */
	records(path: string, form: FileForm, most: number): Promise<readonly unknown[]>;
}

export interface RunFacts {
	readonly name?: string;
	/** Seconds since the epoch. */
	readonly created?: number;
	readonly totalSteps?: number | null;
	/** Versions and settings worth showing: model, base model, environment. */
	readonly versions?: Readonly<Record<string, string>>;
	readonly rewards?: readonly { readonly name: string; readonly weight: number }[];
	/** Notes that hold for this run alone. */
	readonly notes?: readonly string[];
}
