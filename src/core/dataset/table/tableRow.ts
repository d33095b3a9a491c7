export const tableFormats = ['jsonl', 'json', 'csv', 'tsv', 'parquet', 'arrow', 'task'] as const;
export type TableFormat = (typeof tableFormats)[number];

export type RowValue = Readonly<Record<string, unknown>>;

/** A table row, as stored in the file. */
export interface TableRow {
	/** 0-based row number. */
	readonly row: number;
	/** Row value, or null if the row cannot be parsed. */
	readonly value: RowValue | null;
	/** Parse error message, or null if parsing succeeded. */
	readonly fault: string | null;
	/** Suggested fix, if any. */
	readonly action?: string;
	/** 1-based line number, for line-based files read from the start. */
	readonly line?: number;
	/** Set if the row is a JSON value other than an object. */
	readonly bare?: true;
}

/** Wraps a JSON value as a row. Any value other than an object becomes the single field `value`. */
export function rowOfValue(value: unknown): RowValue {
	return isRow(value) ? value : { value };
}

export function isRow(value: unknown): value is RowValue {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats a cell on one line: text as is, lists and objects as JSON, null as an empty string. */
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

/** Returns a value as a number if it is a number or a numeric string, or null otherwise. */
export function cellNumber(value: unknown): number | null {
	if (typeof value === 'number') return Number.isFinite(value) ? value : null;
	if (typeof value === 'boolean') return value ? 1 : 0;
	if (typeof value !== 'string' || value.length > 40 || !/^\s*[-+]?(\d|\.\d)/.test(value)) return null;
	const number = Number(value);
	return Number.isFinite(number) ? number : null;
}
