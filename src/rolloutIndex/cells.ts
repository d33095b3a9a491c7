import type { Cell } from '../protocol/rolloutIndex.ts';
import type { SqlValue } from './duckdb.ts';

const longestCell = 100_000;

/**
 * Converts a DuckDB value to a cell: numbers that fit exactly in a double become numbers, and all other values become
 * text as formatted by DuckDB.
 */
export function cellOf(value: SqlValue): Cell {
	switch (typeof value) {
		case 'boolean':
			return value;
		case 'number':
			return Number.isFinite(value) ? value : String(value);
		case 'bigint':
			return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);
		case 'string':
			return shortened(value);
		default:
			return value === null || value === undefined ? null : (decimalOf(value) ?? shortened(String(value)));
	}
}

/** Returns a decimal, such as a sum or an average of decimals, as a number if it is short enough. */
function decimalOf(value: object): number | null {
	if (!('scale' in value) || !('width' in value)) return null;
	const text = String(value);
	return text.replace(/\D/g, '').length <= 15 ? Number(text) : null;
}

function shortened(text: string): string {
	const whole = text.length <= longestCell ? text : `${text.slice(0, longestCell)}…`;
	return whole.toWellFormed();
}
