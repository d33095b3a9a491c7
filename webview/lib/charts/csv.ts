import { spreadsheetText } from '../../../src/core/text/spreadsheetText.ts';

export interface CsvColumn {
	readonly name: string;
	readonly values: ArrayLike<number | string>;
}

/**
 * Formats columns as CSV (RFC 4180), with a header, CRLF line endings, empty cells for missing values, and numbers at
 * full precision. Text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
 */
export function toCsv(columns: readonly CsvColumn[], rows: ArrayLike<number>): string {
	const lines = [columns.map((column) => cell(column.name)).join(',')];
	for (let i = 0; i < rows.length; i++) {
		const row = rows[i] as number;
		lines.push(columns.map(({ values }) => cell(values[row] ?? '')).join(','));
	}
	return `${lines.join('\r\n')}\r\n`;
}

function cell(value: number | string): string {
	if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
	const safe = spreadsheetText(value);
	return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns a safe file name for untrusted text, using only letters, digits, dots and dashes. */
export function fileNameOf(...parts: readonly string[]): string {
	const name = parts
		.map((part) =>
			part
				.normalize('NFKD')
				.replace(/[^A-Za-z0-9._]+/g, '-')
				.replace(/^[-.]+|[-.]+$/g, '')
				.slice(0, 80),
		)
		.filter((part) => part !== '')
		.join('-');
	return name === '' ? 'export' : name;
}
