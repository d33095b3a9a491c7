import type { JsonShape } from '../../files/jsonParts.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import type { RolloutSplit } from '../../protocol/rolloutSplit.ts';
import type { RunStatus } from '../../protocol/runRecord.ts';
import type { FolderView } from './folderView.ts';
import type { ForeignMetrics, ForeignRollout } from './foreignRecord.ts';

/** Format of a file, which determines how it is divided into records. */
export type FileForm =
	/** One JSON value per line, split at \n only; a bare NaN is read as null. */
	| 'jsonl'
	/** One line of text per record. */
	| 'lines'
	/** One record: the file. */
	| 'json'
	| 'yaml'
	/** One record per row: an object keyed by column. */
	| 'parquet'
	/** torch.save file: one record per entry of `list`, together with the plain values next to the list. */
	| 'torch'
	/** TensorBoard event file: one record per event, `{ step, time, tag, value | text }`. */
	| 'events'
	/** Zip archive: one record per JSON file in it that matches `members`. */
	| 'zip'
	/** SQLite database: one record per row of `table`, an object keyed by column. */
	| 'sqlite'
	/** Transaction log of a W&B run: one record per entry. */
	| 'wandb';

export type VerbatimText = 'text' | 'messages';

/** How a file is divided into records. */
export interface FileShape {
	readonly form: FileForm;
	/**
	 * Maximum file size; larger files are reported as faults. The default depends on the form. Line-based files, archives
	 * and Parquet are read in chunks regardless of size; for archives, this is the maximum size of a decoded record.
	 */
	readonly largest?: number;
	/** Pattern for the records in a zip archive, such as "samples/{name}.json". */
	readonly members?: string;
	/**
	 * Name of the list in a torch.save file, or "table.column" for a dictionary of columns, with as many rows as that
	 * column has entries; several alternatives are separated by "|".
	 */
	readonly list?: string;
	/**
	 * For JSON, the list whose entries are read one at a time if the file is larger than `largest`, and the object's
	 * other fields to include in each of these records, provided that they come before the list.
	 */
	readonly inParts?: { readonly list: string; readonly beside: readonly string[] };
	/** Table in an SQLite database. */
	readonly table?: string;
	/** Column whose value in the newest (last) row of the table is added to each record, as `newest`. */
	readonly lastOf?: string;
	/** Needed parts of a record in JSON lines; the whole record by default. Readers may still return the whole record. */
	readonly parts?: JsonShape;
	/** Maximum number of adjacent events that may be read as one frame, for callers that do not need locations. */
	readonly together?: number;
}

/** Context for reading one record. */
export interface RecordContext {
	/** Path relative to the run folder. */
	readonly file: string;
	/** Values of the pattern's `{name}` parts: `step`, `source`, `split`. */
	readonly parts: Readonly<Record<string, string>>;
	/** `parts.step` as a number; null if the pattern has no step. */
	readonly step: number | null;
	/** Index in the file, from 0. */
	readonly record: number;
	/** Result of the format's `learn` for the folder. */
	readonly learned?: unknown;
	/** Looks up an entry in the companion file; absent if the files have no companion or the companion does not exist. */
	readonly companion?: (key: string) => unknown;
	/** Returns the annotations for one of the record's keys, oldest first; absent if there are none. */
	readonly annotations?: (key: string) => readonly unknown[];
}

/**
 * A file with additional data about the rollouts in another file of the same step. The companion file is read first.
 * `pattern` identifies a single file, using parts of the other file's path ("iteration_{step}/train_logtree.json").
 */
export interface CompanionFile extends FileShape {
	readonly pattern: string;
	/**
	 * Returns the entries with their keys. Entries must be small, because all of them are kept while the step is open.
	 * Never throws.
	 */
	entries(record: unknown): Iterable<readonly [key: string, value: unknown]>;
}

/**
 * Files with records that were written after the rollouts they describe, for the whole run. Unlike companion files,
 * they are read only as far as needed for the requested rollouts.
 */
export interface AnnotationFiles extends FileShape {
	/**
	 * Patterns of the files, in the order that their records apply. If they contain `{step}`, only the files of a
	 * rollout's own step are read for it.
	 */
	readonly patterns: readonly string[];
	/** Returns whether to read a matching file; absent if all of them are read. */
	accepts?(path: string): boolean;
	/** Parts of an annotation that `key` uses. */
	readonly keyParts?: JsonShape;
	/** Returns the key of the rollout that an annotation refers to, or null if there is none. Never throws. */
	key(annotation: unknown): string | null;
	/** Returns the keys whose annotations a rollout record needs. Never throws. */
	keysOf(record: unknown): Iterable<string>;
}

/**
 * A zip archive member that describes all of the archive's records, so they can be listed without being read.
 */
export interface SummaryList {
	readonly member: string;
	/** Returns the record's member and its rollout without text, or null if the entry is not usable. Never throws. */
	rollout(entry: unknown, file: string): { readonly member: string; readonly rollout: ForeignRollout } | null;
}

/**
 * Files of one type in a run. `pattern` is relative to the run folder, such as "rollouts/{step}.jsonl". `{name}`
 * matches within one segment, `{step}` matches digits, and `**` matches any number of folders.
 */
interface Files extends FileShape {
	readonly pattern: string;
	/** Returns whether to read a matching file; absent if all of them are read. */
	accepts?(parts: Readonly<Record<string, string>>): boolean;
	/**
	 * Paths of files that contain other copies of the same records, filled in with the parts of this file's path. If one
	 * of them exists, this file is skipped.
	 */
	readonly unlessThere?: readonly string[];
}

export interface RolloutFiles extends Files {
	readonly split: RolloutSplit;
	/** Returns whether a file contains rollouts of this split, if `learn` determined that; absent if it always does. */
	holds?(path: string, learned: unknown): boolean;
	/**
	 * Returns the part of `learned` that affects a file's rollouts, as text. If it changes, the rollouts are read again.
	 */
	dependsOn?(path: string, learned: unknown): string;
	readonly companion?: CompanionFile;
	readonly annotations?: AnnotationFiles;
	readonly summaries?: SummaryList;
	/**
	 * How completions are stored in the file's JSON lines, so that a text search can skip files that do not contain the
	 * text; absent if completions are stored elsewhere, or only in part. `text`: as strings. `messages`: as strings or
	 * chats, in which text is stored as strings and call arguments as JSON with variable formatting.
	 */
	readonly verbatim?: VerbatimText;
	/**
	 * Parts of a record that suffice for `rollouts` to return the same steps, or the same message, as for the whole
	 * record. If records contain their own steps, listing the steps reads only these parts.
	 */
	readonly stepParts?: JsonShape;
	/**
	 * Returns a key shared by records with the same rollouts (only the first one in a step counts), or null if the record
	 * cannot be a copy; absent if there are no copies. Never throws.
	 */
	copyKey?(record: unknown): string | null;
	/**
	 * Which rollouts in a step form a group: all with the same `groupKey` (the default), or only consecutive ones. In the
	 * latter case, adjacent groups with the same key are separated by the group size that the whole file shares.
	 */
	readonly grouping?: 'key' | 'consecutive';
	/**
	 * Returns the rollouts in a record, or a sentence fragment such as "has no output" if it is invalid. Never throws.
	 */
	rollouts(record: unknown, context: RecordContext): readonly ForeignRollout[] | string;
}

export interface MetricFiles extends Files {
	/** Whether each file repeats all rows from earlier steps' files, so that only the newest readable one is read. */
	readonly cumulative?: boolean;
	/** Returns the metrics rows in a record; rows with the same step are merged, and later values win. Never throws. */
	metrics(record: unknown, context: RecordContext): readonly ForeignMetrics[] | string;
}

/** Declarative description of one trainer's format; all other code is shared between formats. */
export interface RunFormat {
	/** `trl`, `verl`, ...: same as in docs/formats.md and in the metrics catalog. */
	readonly name: string;
	/** Display name: "TRL". */
	readonly title: string;
	/** Description of what a folder must contain, for messages that list what was looked for. */
	readonly looksFor: string;
	/** false if the format has no steps (an evaluation), in which case all rollouts are at `noStep`. */
	readonly hasSteps: boolean;
	/** false if only the metrics have steps, in which case all rollouts are at `noStep`. */
	readonly rolloutsHaveSteps?: false;
	/**
	 * Whether other data files, such as datasets, can match too. Such a format is used for a folder that the user chose,
	 * but not for folders found below it.
	 */
	readonly onRequest?: boolean;
	/** Whether the files can be in subfolders with any name, so that a project folder matches if it contains a run. */
	readonly anyFolder?: boolean;
	/** Whether trainers write this format next to their own. */
	readonly tracker?: boolean;
	readonly rollouts: readonly RolloutFiles[];
	readonly metrics: readonly MetricFiles[];
	/** Notes on what the format does not record and what is inferred instead, one sentence each. */
	readonly notes: readonly string[];
	/**
	 * Returns whether a folder is a run in this format, based on names, and on the start of a few files if names are
	 * ambiguous. Must be cheap, because it is called for every folder in a search.
	 */
	recognize(folder: FolderView): Promise<boolean>;
	/**
	 * Determines what individual records do not show, such as which columns are rewards. Passed to record readers as
	 * `learned`.
	 */
	learn?(folder: FolderView, evidence: RunEvidence): Promise<unknown>;
	/**
	 * Returns information about the run from other files in the folder, for run.json's fields; any of them can be
	 * absent.
	 */
	describe?(folder: FolderView, learned: unknown): Promise<RunFacts>;
}

/** Data that `learn` can read in addition to names and small files. */
export interface RunEvidence {
	/** Returns all metrics rows, merged by step. */
	metrics(): Promise<readonly MetricsLine[]>;
	/** Returns the first records in a readable file. */
	records(path: string, shape: FileShape, limit: number): Promise<readonly unknown[]>;
}

export interface RunFacts {
	readonly name?: string;
	/** Seconds since the epoch. */
	readonly created?: number;
	/** When the run ended, in seconds since the epoch, if the program records it. Files can be copied later. */
	readonly ended?: number;
	readonly totalSteps?: number | null;
	/** How the run ended, if the program records it. */
	readonly status?: Extract<RunStatus, 'finished' | 'stopped' | 'crashed'>;
	/**
	 * Whether the program records the end of a run, but has not recorded it for this run, which may have been killed.
	 */
	readonly open?: boolean;
	/** Latest step, if it is recorded anywhere other than in metrics and file names. */
	readonly reached?: number;
	/** Versions and settings to display: model, base model, environment. */
	readonly versions?: Readonly<Record<string, string>>;
	readonly rewards?: readonly { readonly name: string; readonly weight: number }[];
	/** Notes that apply only to this run. */
	readonly notes?: readonly string[];
}
