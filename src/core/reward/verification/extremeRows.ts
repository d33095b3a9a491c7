import type { VerifiedRow } from '../../../protocol/verification.ts';

/** The required fields of a row. */
type ValuedRow = Pick<VerifiedRow, 'source' | 'value'>;

export interface ExtremeRows<Row extends ValuedRow = VerifiedRow> {
	/** Highest value first. */
	readonly best: readonly Row[];
	/** Lowest value first. */
	readonly worst: readonly Row[];
}

/**
 * The rows with the highest and lowest values, at most n each, without overlap. In a tie, surprising rows come first (a
 * wrong answer at the top, a correct one at the bottom), then list order.
 */
export function extremeRows<Row extends ValuedRow>(rows: readonly Row[], n: number): ExtremeRows<Row> {
	const valued = rows.filter((row) => row.value !== null).map((row) => ({ row, value: row.value as number }));
	const most = Math.min(n, Math.floor((valued.length + 1) / 2));
	const surprise = (row: Row, source: Row['source']) => (row.source === source ? 0 : 1);
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
