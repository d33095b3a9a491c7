import type { FailureData } from '../base/failure.ts';
import type { RolloutSplit } from '../runs/runContent.ts';
import type { RowBatch } from './rolloutRow.ts';

/** A chunk of one of our own rollout files: the lines that begin in [from, to). */
export interface LineRange {
	readonly folder: string;
	/** Path relative to the folder. */
	readonly file: string;
	readonly from: number;
	readonly to: number;
	/** File size in bytes. Reading stops at this offset. */
	readonly size: number;
}

/** One step of a run in any format. */
export interface StepOfRun {
	readonly folder: string;
	readonly format: string;
	readonly split: RolloutSplit;
	readonly step: number;
}

export interface Pattern {
	/** Regular expression source; plain text is escaped. */
	readonly source: string;
	readonly flags: string;
	/** A record that contains none of these byte sequences cannot match; null to check every record. */
	readonly literals: readonly LiteralBytes[] | null;
	/** Same as `literals`, for records in which part of the searched text is JSON with variable formatting. */
	readonly messageLiterals: readonly LiteralBytes[] | null;
}

export interface LiteralBytes {
	readonly bytes: Uint8Array;
	/** Whether matching ignores the case of ASCII letters. If so, `bytes` are lowercase. */
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
			/** Offsets of the records to search, ascending; null for all. */
			readonly only: Float64Array | null;
			/** An interrupted search continues after this record. */
			readonly after: number;
			/** Records to skip because the expression takes too long on them. */
			readonly skip: readonly number[];
	  }
	| {
			readonly kind: 'searchStep';
			readonly step: StepOfRun;
			readonly pattern: Pattern;
			readonly limit: number;
			/** `group index` of each rollout to search; null for all. */
			readonly only: ReadonlySet<string> | null;
			/** An interrupted search continues after this rollout: its 1-based number within the step. */
			readonly after: number;
			readonly skip: readonly number[];
	  };

export interface ScanResult {
	/** File offset where reading ended: the start of the last line if it is incomplete. */
	readonly end: number;
	readonly skipped: number;
	/** Whether the last line is incomplete. */
	readonly torn: boolean;
	/** "file, line or byte: problem", or null if there is none. */
	readonly fault: string | null;
	/** Steps only: a value that differs if the step has changed. */
	readonly identity: string;
}

export interface FoundHit {
	readonly group: number;
	readonly index: number;
	readonly count: number;
	readonly before: string;
	readonly match: string;
	readonly after: string;
	/** File offset, or the number of the rollout in its step. */
	readonly place: number;
}

export interface SearchResult {
	/** Whether the limit was reached, so there might be more hits. */
	readonly limited: boolean;
	readonly unread: number;
}

/** A thread's report about a task. After `batch` or `hits`, the task waits for `next` before it continues. */
export type IndexReport =
	| { readonly kind: 'batch'; readonly batch: RowBatch }
	| { readonly kind: 'hits'; readonly hits: readonly FoundHit[]; readonly place: number }
	| { readonly kind: 'scanned'; readonly result: ScanResult }
	| { readonly kind: 'searched'; readonly result: SearchResult }
	| { readonly kind: 'failed'; readonly failure: FailureData };

export type IndexOrder =
	| { readonly kind: 'task'; readonly task: IndexTask }
	| { readonly kind: 'next' }
	| { readonly kind: 'cancel' };

/** Memory shared with a thread: when matching of the current rollout started, and which rollout it is. */
export const watchMs = 0;
export const watchPlace = 1;
