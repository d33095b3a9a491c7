export const tableFormats = ['jsonl', 'json', 'csv', 'tsv', 'parquet', 'arrow', 'task'] as const;
export type TableFormat = (typeof tableFormats)[number];

export type RowValue = Readonly<Record<string, unknown>>;

/** A row of a table, as it stands in its file. */
export interface TableRow {
	/** From 0. */
	readonly row: number;
	/** null: it cannot be read. */
	readonly value: RowValue | null;
	/** Why not, in words; null: it can. */
	readonly fault: string | null;
	/** What to do about it, where there is something. */
	readonly action?: string;
	/** From 1, in a file of lines that is read from its beginning. */
	readonly line?: number;
	/** It is a JSON value that is no object. */
	readonly bare?: true;
}

/** A JSON value as a row: what is no object is the one field `value`. */
export function rowOfValue(value: unknown): RowValue {
	return isRow(value) ? value : { value };
}

export function isRow(value: unknown): value is RowValue {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One line with what a cell holds: texts as they are, lists and objects as JSON, nothing for null. */
export function cellText(value: unknown): string {
	if (typeof value === 'string') return value;
	if (value === null || value === undefined) return '';
	if (typeof value === 'number' || typeof value === 'boolean') return String(value);
	try {
		return JSON.stringify(value) ?? '';
	} catch {
		return '';
	}
}

/** A value as a number where it is one, or a text that stands for one; else null. */
export function cellNumber(value: unknown): number | null {
	if (typeof value === 'number') return Number.isFinite(value) ? value : null;
	if (typeof value === 'boolean') return value ? 1 : 0;
	if (typeof value !== 'string' || value.length > 40 || !/^\s*[-+]?(\d|\.\d)/.test(value)) return null;
	const number = Number(value);
	return Number.isFinite(number) ? number : null;
}
