import type { RunTableRow } from '../../protocol/runTableMessages.ts';
import type { CellValue, RunColumn } from './runColumns.ts';

/**
 * Returns the rows sorted by a column; runs without a value come last in both directions, and ties keep their order.
 * Numbers sort before text, and text is in natural order ("step 2" before "step 10").
 */
export function sortRuns(
	rows: readonly RunTableRow[],
	{ value }: Pick<RunColumn, 'value'>,
	descending: boolean,
): RunTableRow[] {
	// Compute each value once, because a comparison sort would request it many times.
	const keyed = rows.map((row) => ({ row, key: value(row) }));
	const sign = descending ? -1 : 1;
	keyed.sort((a, b) => {
		if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null);
		return sign * compareValues(a.key, b.key);
	});
	return keyed.map(({ row }) => row);
}

const byText = new Intl.Collator('en', { numeric: true });

function compareValues(a: Exclude<CellValue, null>, b: Exclude<CellValue, null>): number {
	if (typeof a === 'number' && typeof b === 'number') return a - b;
	if (typeof a === 'number' || typeof b === 'number') return typeof a === 'number' ? -1 : 1;
	return byText.compare(String(a), String(b));
}
