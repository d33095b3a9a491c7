/** Matches dataset file names. A path with one of these extensions is a file even if it also looks like a Hub id. */
const dataFile = /\.(jsonl?|csv|tsv|parquet|arrow|txt)(\.(gz|zst))?$/i;
const hubForm = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/;

/** Returns the file type that a path's extension indicates, or null if it is unknown. */
export function dataFileKind(path: string): string | null {
	return dataFile.exec(path)?.[1]?.toLowerCase() ?? null;
}

/**
 * Returns whether text has the format of a Hub model id: `name` or `owner/name`. Folder names can have the same format.
 */
export function hasHubForm(text: string): boolean {
	return hubForm.test(text) && text.length <= 193;
}

/** Returns whether text has the format of a Hub dataset id and is not the name of a data file. */
export function hasHubDatasetForm(text: string): boolean {
	return hasHubForm(text) && dataFileKind(text) === null;
}
