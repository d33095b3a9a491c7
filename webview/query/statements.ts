import type { Sort } from '../../src/protocol/queryMessages.ts';
import { quoteName } from './formSql.ts';

/** Matches string literals, identifiers and comments, where a semicolon does not end the statement. */
const passages =
	/'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)?\$.*?\$\1\$|--[^\n]*|\/\*.*?\*\/|;|[^'"$;\-/]+|[\s\S]/gs;

/** Removes trailing semicolons and comments from a statement. */
export function withoutEnd(sql: string): string {
	let end = sql.length;
	for (const [passage, offset] of [...sql.matchAll(passages)].map((match) => [match[0], match.index] as const)) {
		if (passage === ';') end = Math.min(end, offset);
		else if (!/^(?:--|\/\*)/.test(passage) && passage.trim() !== '') end = sql.length;
	}
	return sql.slice(0, end).trim();
}

/** Returns a statement as a subquery. */
function nested(sql: string): string {
	// The line breaks keep a trailing comment from hiding the parenthesis.
	return `(\n${withoutEnd(sql)}\n)`;
}

/** Returns a statement with its result sorted by a column. */
export function sortedSql(sql: string, sort: Sort | null): string {
	if (sort === null) return sql;
	const direction = sort.descending ? 'DESC' : 'ASC';
	return `SELECT * FROM ${nested(sql)} AS result ORDER BY ${quoteName(sort.column)} ${direction} NULLS LAST`;
}

export const bins = 40;

/**
 * Returns a statement that computes the histogram of a column over all rows returned by `sql`. The result has the
 * columns (bin, low, high, rows); the row whose bin is null counts rows without a finite value. If there are only a few
 * distinct integers, each one gets its own bin.
 */
export function histogramSql(sql: string, column: string): string {
	const finite = `isfinite(CAST(${quoteName(column)} AS DOUBLE))`;
	return `WITH result AS ${nested(sql)},
picked AS (SELECT CASE WHEN ${finite} THEN CAST(${quoteName(column)} AS DOUBLE) END AS value FROM result),
bounds AS (
	SELECT min(value) AS least, max(value) AS most, coalesce(bool_and(value = round(value)), false) AS whole FROM picked
),
scale AS (
	SELECT
		CASE WHEN whole AND most - least < ${bins} THEN least - 0.5 ELSE least END AS low,
		CASE WHEN whole AND most - least < ${bins} THEN most + 0.5 ELSE most END AS high,
		CASE WHEN whole AND most - least < ${bins} THEN CAST(most - least AS INTEGER) + 1 ELSE ${bins} END AS bins
	FROM bounds
)
SELECT
	CASE
		WHEN value IS NULL THEN NULL
		ELSE CAST(least(bins - 1, coalesce(floor((value - low) / nullif(high - low, 0) * bins), 0)) AS INTEGER)
	END AS bin,
	any_value(low) AS low,
	any_value(high) AS high,
	any_value(bins) AS bins,
	count(*) AS rows
FROM picked, scale
GROUP BY 1
ORDER BY 1 NULLS LAST`;
}

export interface HistogramBin {
	readonly low: number;
	readonly high: number;
	readonly rows: number;
}

export interface Histogram {
	readonly bins: readonly HistogramBin[];
	/** Number of rows without a finite value. */
	readonly without: number;
	/** Whether the bins are integers. */
	readonly whole: boolean;
}

/** Parses the result of {@link histogramSql}. */
export function histogramOf(rows: readonly (readonly unknown[])[]): Histogram {
	const number = (value: unknown): number => (typeof value === 'number' ? value : Number(value));
	let without = 0;
	const counts = new Map<number, number>();
	let [low, high, count] = [Number.NaN, Number.NaN, 0];
	for (const [bin, from, to, all, n] of rows) {
		if (bin === null) {
			without += number(n);
			continue;
		}
		[low, high, count] = [number(from), number(to), number(all)];
		counts.set(number(bin), number(n));
	}
	if (counts.size === 0) return { bins: [], without, whole: false };
	// With a single distinct value, there is only one bin.
	if (low === high) return { bins: [{ low, high, rows: counts.get(0) ?? 0 }], without, whole: false };
	const width = (high - low) / count;
	const made = Array.from({ length: count }, (_, i) => ({
		low: low + i * width,
		high: i === count - 1 ? high : low + (i + 1) * width,
		rows: counts.get(i) ?? 0,
	}));
	return { bins: made, without, whole: width === 1 && !Number.isInteger(low) && Number.isInteger(low + 0.5) };
}
