/** A regular file inside a folder. */
export interface FoundFile {
	/** Path relative to the folder, with `/` as the separator. */
	readonly path: string;
	readonly size: number;
	readonly modifiedMs: number;
	/** File identity and content stamp: changes when the file is replaced or modified. */
	readonly stamp: string;
}

/** A folder as importers see it: links are not followed, and reads are bounded. */
export interface FolderView {
	/** Absolute path. */
	readonly path: string;
	/** Returns the files that match a pattern (see `RolloutFiles`), sorted by step, then by name. */
	find(pattern: string): Promise<readonly FoundFile[]>;
	/** Returns whether any file matches; stops at the first match. */
	has(pattern: string): Promise<boolean>;
	/** Returns up to `count` matching files in no particular order. */
	some(pattern: string, count: number): Promise<readonly FoundFile[]>;
	/**
	 * Returns up to five matching files in each of up to `count` folders, by folder, in no particular order. The pattern's
	 * folders must be names or wildcards for one segment.
	 */
	byFolder(pattern: string, count: number): Promise<ReadonlyMap<string, readonly string[]>>;
	/** Returns the start of a file as text, or null if it does not exist. */
	head(path: string, bytes?: number): Promise<string | null>;
	/** Reads a small JSON file; returns undefined if it does not exist or is not JSON. */
	json(path: string): Promise<unknown>;
	/** Returns the columns of an SQLite database's tables by name; empty if it is not one. */
	tables(path: string): Promise<ReadonlyMap<string, readonly string[]>>;
}
