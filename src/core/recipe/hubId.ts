/** Files of data by their names: what ends so is a file, whatever else it looks like. */
const dataFile = /\.(jsonl?|csv|tsv|parquet|arrow|txt)(\.(gz|zst))?$/i;
const hubForm = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/;

/** The kind of file that a path names by its ending; null: it has none that is known. */
export function dataFileKind(path: string): string | null {
	return dataFile.exec(path)?.[1]?.toLowerCase() ?? null;
}

/** Whether a text has the form of a model's id on the hub: `name` or `owner/name`. A folder may have it, too. */
export function hasHubForm(text: string): boolean {
	return hubForm.test(text) && text.length <= 193;
}

/** Whether a text has the form of a dataset's id on the hub and is no data file by its name. */
export function hasHubDatasetForm(text: string): boolean {
	return hasHubForm(text) && dataFileKind(text) === null;
}
