import type { RolloutSplit } from '../runs/runContent.ts';
import type { RowBatch } from './rolloutRow.ts';

/** A piece of a run's own file of rollouts: the lines that begin in [from, to). */
export interface LineRange {
	readonly folder: string;
	/** Relative to it. */
	readonly file: string;
	readonly from: number;
	readonly to: number;
	/** Bytes of the file that are inspected. */
	readonly size: number;
}

/** A step of a run of any format. */
export interface StepOfRun {
	readonly folder: string;
	readonly format: string;
	readonly split: RolloutSplit;
	readonly step: number;
}

export interface Pattern {
	/** Source of an expression; plain text is escaped. */
	readonly source: string;
	readonly flags: string;
	/** A record without any of these bytes contains no match; null: every record is inspected. */
	readonly literals: readonly LiteralBytes[] | null;
}

export interface LiteralBytes {
	readonly bytes: Uint8Array;
	/** ASCII letters in either case; `bytes` are lower case. */
	readonly ignoreCase: boolean;
}

export type IndexTask =
	| { readonly kind: 'scanLines'; readonly range: LineRange }
	| { readonly kind: 'scanStep'; readonly step: StepOfRun }
	| {
			readonly kind: 'searchLines';
			readonly range: LineRange;
			readonly pattern: Pattern;
			readonly limit: number;
			/** Offsets of the records that count, ascending; null: all. */
			readonly only: Float64Array | null;
			/** Where a search that was ended continues: behind this record. */
			readonly after: number;
			/** Records on which the expression takes too long. */
			readonly skip: readonly number[];
	  }
	| {
			readonly kind: 'searchStep';
			readonly step: StepOfRun;
			readonly pattern: Pattern;
			readonly limit: number;
			/** `group index` of those that count; null: all. */
			readonly only: ReadonlySet<string> | null;
			/** Where a search that was ended continues: behind this rollout of the step, counted from 1. */
			readonly after: number;
			readonly skip: readonly number[];
	  };

export interface ScanResult {
	/** End of what was read, in the file; the beginning of a torn last line. */
	readonly end: number;
	readonly skipped: number;
	/** Whether the last line is torn. */
	readonly torn: boolean;
	/** "file, line or byte: what"; null: none. */
	readonly fault: string | null;
	/** Of a step: what tells whether it changed. */
	readonly identity: string;
}

export interface FoundHit {
	readonly group: number;
	readonly index: number;
	readonly count: number;
	readonly before: string;
	readonly match: string;
	readonly after: string;
	/** In the file, or the number of the rollout in its step. */
	readonly place: number;
}

export interface SearchResult {
	/** More may follow behind the limit. */
	readonly limited: boolean;
	readonly unread: number;
}

/** What a thread says of a task. A `batch` or `hits` waits for `next` before the task continues. */
export type IndexReport =
	| { readonly kind: 'batch'; readonly batch: RowBatch }
	| { readonly kind: 'hits'; readonly hits: readonly FoundHit[]; readonly place: number }
	| { readonly kind: 'scanned'; readonly result: ScanResult }
	| { readonly kind: 'searched'; readonly result: SearchResult }
	| { readonly kind: 'failed'; readonly failure: { reason: string; message: string; action?: string } };

export type IndexOrder =
	| { readonly kind: 'task'; readonly task: IndexTask }
	| { readonly kind: 'next' }
	| { readonly kind: 'cancel' };

/** Shared with a thread: when the match of the rollout at hand began, and which it is. */
export const watchMs = 0;
export const watchPlace = 1;
