import type { VerifiedRow } from '../../../protocol/verification.ts';

/** Fields required by `extremeRows`. */
type ValuedRow = Pick<VerifiedRow, 'source' | 'value'>;

export interface ExtremeRows<Row extends ValuedRow = VerifiedRow> {
	/** Rows with the highest values, in descending order. */
	readonly best: readonly Row[];
	/** Rows with the lowest values, in ascending order. */
	readonly worst: readonly Row[];
}

/**
 * Returns the rows with the highest and lowest values, at most n each, without overlap. Ties are broken in favor of
 * surprising rows (wrong answers at the top, correct ones at the bottom), then by list order.
 */
export function extremeRows<Row extends ValuedRow>(rows: readonly Row[], n: number): ExtremeRows<Row> {
	const valued = rows.filter((row) => row.value !== null).map((row) => ({ row, value: row.value as number }));
	const max = Math.min(n, Math.floor((valued.length + 1) / 2));
	const surprise = (row: Row, source: Row['source']) => (row.source === source ? 0 : 1);
	const best = valued
		.toSorted((a, b) => compare(b.value, a.value) || surprise(a.row, 'wrong') - surprise(b.row, 'wrong'))
		.slice(0, max);
	const taken = new Set(best);
	const worst = valued
		.filter((one) => !taken.has(one))
		.toSorted((a, b) => compare(a.value, b.value) || surprise(a.row, 'gold') - surprise(b.row, 'gold'))
		.slice(0, max);
	return { best: best.map(({ row }) => row), worst: worst.map(({ row }) => row) };
}

const compare = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);
