import type { Answer } from '../../src/protocol/queryMessages.ts';
import type { Cell, ResultTable } from '../../src/protocol/rolloutIndex.ts';
import type { DataChart, DataSeries } from '../lib/charts/dataChart.ts';
import { kindOfType } from './queryForm.ts';
import type { ChartChoice } from './savedState.ts';
import { cellText } from './tableOfAnswer.ts';

/** Maximum number of series, and of categories on the x axis. */
export const maxSeries = 8;
export const maxCategories = 200;

/** Chart of a result, and a description of what it omits. */
export interface ResultChart {
	readonly chart: DataChart;
	/** Sentences. */
	readonly notes: readonly string[];
}

/** Returns the names of the numeric columns. */
export function numericColumns({ columns }: ResultTable): string[] {
	return columns.filter(({ type }) => kindOfType(type) === 'number').map(({ name }) => name);
}

/**
 * Returns the default columns: the second numeric column against the first or, if there is only one, that column
 * against the first text column; null if there are no numeric columns.
 */
export function firstChoice(table: ResultTable): ChartChoice | null {
	const numbers = numericColumns(table);
	const other = table.columns.find(({ name }) => !numbers.includes(name))?.name;
	const [x, y] = numbers.length > 1 ? numbers : [other ?? numbers[0], numbers[0]];
	if (x === undefined || y === undefined) return null;
	return { kind: numbers.includes(x) ? 'line' : 'bar', x, y, by: null };
}

/** Returns the choice if a result has its columns, otherwise null. */
export function chartOf(answer: Answer | null, choice: ChartChoice | null): ChartChoice | null {
	if (choice === null || answer?.kind !== 'table') return null;
	const numbers = numericColumns(answer.table);
	const names = [choice.x, ...(choice.by === null ? [] : [choice.by])];
	const has = names.every((name) => answer.table.columns.some((column) => column.name === name));
	return has && numbers.includes(choice.y) ? choice : null;
}

/** Returns a cell as a number; null if it is unknown, not finite, or not a number. Large numbers arrive as text. */
function numberOf(cell: Cell | undefined): number | null {
	const value = typeof cell === 'string' && cell.trim() !== '' ? Number(cell) : cell;
	return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/**
 * Returns the rows of a result as a chart. Lines connect rows in ascending x order. A row without a value leaves a gap
 * in its line and has no bar, because an unknown value is not zero.
 */
export function resultChart(table: ResultTable, choice: ChartChoice): ResultChart {
	const place = (name: string | null) => table.columns.findIndex((column) => column.name === name);
	const [x, y, by] = [place(choice.x), place(choice.y), place(choice.by)];
	const kindAt = (column: number) => kindOfType(table.columns[column]?.type ?? '');
	const isNumber = kindAt(x) === 'number';
	const categories = new Map<string, number>();
	const groups = new Map<string, { x: number | null; y: number | null }[]>();
	const notes: string[] = [];
	let [left, lost] = [0, 0];
	for (const row of table.rows) {
		const key = by < 0 ? '' : row[by] === null ? 'null' : cellText(row[by], kindAt(by));
		const group = groups.get(key) ?? [];
		if (group.length === 0 && groups.size >= maxSeries) {
			left++;
			continue;
		}
		groups.set(key, group);
		let at: number | null;
		if (isNumber) at = numberOf(row[x]);
		else {
			const word = row[x] === null ? 'null' : cellText(row[x], kindAt(x));
			const known = categories.get(word);
			if (known === undefined && categories.size >= maxCategories) {
				lost++;
				continue;
			}
			at = known ?? categories.size;
			categories.set(word, at);
		}
		group.push({ x: at, y: numberOf(row[y]) });
	}
	const series: DataSeries[] = [...groups].map(([label, rows], color) => {
		// Rows without x stay at the end.
		const ordered =
			choice.kind === 'line'
				? rows.toSorted((a, b) => Number(a.x === null) - Number(b.x === null) || (a.x as number) - (b.x as number))
				: rows;
		return { label, color, x: ordered.map((one) => one.x), y: ordered.map((one) => one.y) };
	});
	const unknown = series.reduce(
		(sum, one) => sum + one.x.filter((at, i) => at === null || one.y[i] === null).length,
		0,
	);
	if (unknown > 0) notes.push(`${unknown} of ${table.rows.length} rows have no value and are not drawn.`);
	if (left > 0) notes.push(`Only the first ${maxSeries} values of ${choice.by} are shown; ${left} rows are omitted.`);
	if (lost > 0)
		notes.push(`Only the first ${maxCategories} values of ${choice.x} are shown; ${lost} rows are omitted.`);
	if (table.truncated) notes.push('Only the rows in the table are shown.');
	const chart: DataChart = {
		kind: choice.kind,
		xLabel: choice.x,
		yLabel: choice.y,
		categories: isNumber ? null : [...categories.keys()],
		series,
	};
	return { chart, notes };
}
