import type { VerifiedRow } from '../../../protocol/verification.ts';

export interface ExtremeRows {
	/** Highest value first. */
	readonly best: readonly VerifiedRow[];
	/** Lowest value first. */
	readonly worst: readonly VerifiedRow[];
}

/**
 * The rows with the highest and with the lowest values, at most n each, none in both. Of equal values the surprising ones
 * come first: a wrong answer at the top, a right one at the bottom; then as in the list.
 */
export function extremeRows(rows: readonly VerifiedRow[], n: number): ExtremeRows {
	const valued = rows.filter((row) => row.value !== null).map((row) => ({ row, value: row.value as number }));
	const most = Math.min(n, Math.floor((valued.length + 1) / 2));
	const surprise = (row: VerifiedRow, source: VerifiedRow['source']) => (row.source === source ? 0 : 1);
	const best = valued
		.toSorted((a, b) => compare(b.value, a.value) || surprise(a.row, 'wrong') - surprise(b.row, 'wrong'))
		.slice(0, most);
	const taken = new Set(best);
	const worst = valued
		.filter((one) => !taken.has(one))
		.toSorted((a, b) => compare(a.value, b.value) || surprise(a.row, 'gold') - surprise(b.row, 'gold'))
		.slice(0, most);
	return { best: best.map(({ row }) => row), worst: worst.map(({ row }) => row) };
}

const compare = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);
