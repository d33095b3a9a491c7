/** A regular file below a folder. */
export interface FoundFile {
	/** Relative to the folder, with `/`. */
	readonly path: string;
	readonly size: number;
	readonly modifiedMs: number;
	/** Of the file's identity and content: changes when it is replaced or written to. */
	readonly stamp: string;
}

/** A folder as importers see it: no links are followed, what is read is bounded. */
export interface FolderView {
	/** Absolute. */
	readonly path: string;
	/** Files that match a pattern (see `RolloutFiles`), in the order of their steps, then names. */
	find(pattern: string): Promise<readonly FoundFile[]>;
	/** Whether any does; stops at the first. */
	has(pattern: string): Promise<boolean>;
	/** So many of them, in no certain order; stops there. */
	some(pattern: string, count: number): Promise<readonly FoundFile[]>;
	/** The beginning of a file as text; null if it does not exist. */
	head(path: string, bytes?: number): Promise<string | null>;
	/** A small JSON file; undefined if it does not exist or is not JSON. */
	json(path: string): Promise<unknown>;
}
