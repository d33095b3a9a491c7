import type { Condition, RowFilter } from '../../../protocol/datasetMessages.ts';
import { cellNumber, cellText, type RowValue } from './tableRow.ts';

/** Row properties other than its columns. */
export interface RowMarks {
	readonly repeats: boolean;
	readonly overlaps: boolean;
	/** Returns whether the row is held out. Called only if a filter needs this information. */
	readonly heldOut: () => boolean;
}

/** Returns whether a filter accepts every row. */
export function isOpen(filter: RowFilter): boolean {
	const { text, conditions, duplicates, overlaps, side } = filter;
	return text === '' && conditions.length === 0 && duplicates === 'all' && overlaps === 'all' && side === 'all';
}

/**
 * Compiles a filter into a predicate. Text comparison is case-insensitive. A numeric value is compared numerically with
 * cells that are numbers or numeric strings. A missing column counts as empty.
 */
export function rowTest(filter: RowFilter): (row: RowValue, marks: RowMarks) => boolean {
	const wanted = filter.text.toLowerCase();
	const conditions = filter.conditions.map(conditionTest);
	const kind = (shown: RowFilter['duplicates'], has: boolean) => shown === 'all' || (shown === 'only') === has;
	return (row, marks) => {
		if (!kind(filter.duplicates, marks.repeats) || !kind(filter.overlaps, marks.overlaps)) return false;
		if (!conditions.every((test) => test(row))) return false;
		if (wanted !== '' && !Object.values(row).some((value) => cellText(value).toLowerCase().includes(wanted)))
			return false;
		return filter.side === 'all' || (filter.side === 'held out') === marks.heldOut();
	};
}

function conditionTest({ column, operator, value }: Condition): (row: RowValue) => boolean {
	const wanted = value.toLowerCase();
	const number = cellNumber(value);
	const cell = (row: RowValue): unknown => (Object.hasOwn(row, column) ? row[column] : null);
	const text = (row: RowValue): string => cellText(cell(row)).toLowerCase();
	/**
	 * Compares the cell with the filter value. Returns a negative, zero, or positive number, or null if the cell is
	 * empty.
	 */
	const order = (row: RowValue): number | null => {
		const own = text(row);
		if (own === '') return null;
		const mine = cellNumber(cell(row));
		if (number !== null) return mine === null ? null : mine - number;
		return own < wanted ? -1 : own > wanted ? 1 : 0;
	};
	const ordered = (holds: (by: number) => boolean) => (row: RowValue) => {
		const by = order(row);
		return by !== null && holds(by);
	};
	switch (operator) {
		case 'contains':
			return (row) => text(row).includes(wanted);
		case 'lacks':
			return (row) => !text(row).includes(wanted);
		case '=':
			return (row) => text(row) === wanted || order(row) === 0;
		case '!=':
			return (row) => text(row) !== wanted && order(row) !== 0;
		case '<':
			return ordered((by) => by < 0);
		case '<=':
			return ordered((by) => by <= 0);
		case '>':
			return ordered((by) => by > 0);
		case '>=':
			return ordered((by) => by >= 0);
		case 'is empty':
			return (row) => text(row).trim() === '';
		case 'is not empty':
			return (row) => text(row).trim() !== '';
	}
}

/** Sort key. Numbers sort before text, and empty cells sort last in either direction. */
export type SortKey = number | string | null;
const longestKey = 100;

export function sortKey(value: unknown): SortKey {
	const number = cellNumber(value);
	if (number !== null) return number;
	const text = cellText(value);
	return text === '' ? null : text.slice(0, longestKey).toLowerCase();
}

/**
 * Sorts rows by key. The sort is stable.
 * @param keys parallel to `rows`
 */
export function sortedRows(rows: readonly number[], keys: readonly SortKey[], descending: boolean): number[] {
	const order = rows.map((_, i) => i);
	const sign = descending ? -1 : 1;
	order.sort((a, b) => {
		const [x, y] = [keys[a] ?? null, keys[b] ?? null];
		if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
		if (typeof x !== typeof y) return typeof x === 'number' ? -1 : 1;
		return (x < y ? -sign : x > y ? sign : 0) || a - b;
	});
	return order.map((i) => rows[i] as number);
}
