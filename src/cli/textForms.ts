import { unknown } from '../base/format.ts';

/**
 * Formats a number with three significant digits, keeping trailing zeros so that redrawn lines have a constant width.
 * The minus sign is an ASCII hyphen because programs parse this output.
 */
export function formatNumber(value: number | null | undefined): string {
	if (value === null || value === undefined) return unknown;
	if (value === 0) return '0';
	const size = Math.abs(value);
	if (size < 0.001 || size >= 1e6) return value.toExponential(1);
	return value.toFixed(size < 0.1 ? 4 : size < 10 ? 3 : size < 100 ? 1 : 0);
}

const levels = '▁▂▃▄▅▆▇█';

/** Draws the last `width` values as block characters scaled from min to max. Missing values are left blank. */
export function sparkline(values: readonly (number | null)[], width: number): string {
	const shown = values.slice(-width);
	const known = shown.filter((value) => value !== null);
	const low = Math.min(...known);
	const span = Math.max(...known) - low;
	return shown
		.map((value) => {
			if (value === null) return ' ';
			const level = span === 0 ? 3 : Math.floor(((value - low) / span) * levels.length);
			return levels[Math.min(levels.length - 1, level)];
		})
		.join('');
}

/** Draws a progress bar of `width` cells for a fraction from 0 to 1, in steps of an eighth of a cell. */
export function progressBar(share: number, width: number): string {
	const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
	const full = Math.floor(eighths / 8);
	const part = eighths % 8;
	const partial = part === 0 ? '' : String.fromCodePoint(0x2590 - part);
	return '█'.repeat(full) + partial + '░'.repeat(width - full - (partial === '' ? 0 : 1));
}

/** Pads each column except the last to its widest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)));
	return rows.map((row) =>
		row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0))).join('  '),
	);
}
