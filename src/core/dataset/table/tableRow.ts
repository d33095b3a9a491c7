export const tableFormats = ['jsonl', 'json', 'csv', 'tsv', 'parquet', 'arrow', 'task'] as const;
export type TableFormat = (typeof tableFormats)[number];

export type RowValue = Readonly<Record<string, unknown>>;

/** A row of a table, as in its file. */
export interface TableRow {
	/** 0-based. */
	readonly row: number;
	/** null if it cannot be parsed. */
	readonly value: RowValue | null;
	/** The parse error, in words; null if there is none. */
	readonly fault: string | null;
	/** What to do about it, if anything. */
	readonly action?: string;
	/** 1-based, for line-based files read from the start. */
	readonly line?: number;
	/** Set for a JSON value that is not an object. */
	readonly bare?: true;
}

/** Wraps a JSON value as a row: a value other than an object becomes the single field `value`. */
export function rowOfValue(value: unknown): RowValue {
	return isRow(value) ? value : { value };
}

export function isRow(value: unknown): value is RowValue {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Cell content in one line: texts as they are, lists and objects as JSON, empty for null. */
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

/** A value as a number if it is one, or a numeric string; otherwise null. */
export function cellNumber(value: unknown): number | null {
	if (typeof value === 'number') return Number.isFinite(value) ? value : null;
	if (typeof value === 'boolean') return value ? 1 : 0;
	if (typeof value !== 'string' || value.length > 40 || !/^\s*[-+]?(\d|\.\d)/.test(value)) return null;
	const number = Number(value);
	return Number.isFinite(number) ? number : null;
}
