import { formatCounted, formatNumber } from '../../src/base/format.ts';
import { histogram } from '../../src/core/reward/verification/histogram.ts';
import { type RowSource, rowSources } from '../../src/protocol/verification.ts';
import type { RowSummary } from '../../src/protocol/verificationMessages.ts';

export const sourceNames: Readonly<Record<RowSource, string>> = {
	gold: 'correct answer',
	wrong: 'incorrect answer',
	case: 'case',
	rollout: 'rollout',
	selection: 'selection',
};

/** A histogram bin. */
export interface Bin {
	readonly low: number;
	readonly high: number;
	/** Whether `high` is excluded because it belongs to the next bin. */
	readonly open: boolean;
	readonly total: number;
	readonly counts: Readonly<Record<RowSource, number>>;
}

export interface Distribution {
	readonly bins: readonly Bin[];
	/** Sources that have values, in display order. */
	readonly sources: readonly RowSource[];
	/** Number of rows in the largest bin. */
	readonly highest: number;
}

/** Computes a histogram of values, grouped by source. Pure. */
export function distribution(rows: readonly Pick<RowSummary, 'value' | 'source'>[], bins = 20): Distribution {
	const valued = rows.filter((row) => row.value !== null);
	const found = histogram(
		valued.map(({ value }) => value as number),
		bins,
	);
	const counts = found.map(
		() => Object.fromEntries(rowSources.map((source) => [source, 0])) as Record<RowSource, number>,
	);
	const last = found.length - 1;
	for (const { value, source } of valued) {
		const at = found.findIndex((bin, i) => isIn(value as number, bin, i === last));
		const count = counts[at];
		if (count !== undefined) count[source]++;
	}
	return {
		bins: found.map(({ low, high, count }, i) => ({
			low,
			high,
			open: low !== high && i < last,
			total: count,
			counts: counts[i] as Record<RowSource, number>,
		})),
		sources: rowSources.filter((source) => counts.some((count) => count[source] > 0)),
		highest: Math.max(0, ...found.map(({ count }) => count)),
	};
}

function isIn(value: number, { low, high }: { low: number; high: number }, last: boolean): boolean {
	return low === high ? value === low : value >= low && (value < high || (last && value === high));
}

/** Returns a label such as "0.5" or "0.25 to 0.5". */
export function binLabel({ low, high }: Pick<Bin, 'low' | 'high'>): string {
	return low === high ? formatNumber(low, 3) : `${formatNumber(low, 3)} to ${formatNumber(high, 3)}`;
}

/** Returns a description such as "12 rows: 8 correct answers, 4 incorrect answers". */
export function binWords({ total, counts }: Bin, sources: readonly RowSource[]): string {
	const parts = sources
		.filter((source) => counts[source] > 0)
		.map((source) => formatCounted(counts[source], sourceNames[source]));
	return `${formatCounted(total, 'row')}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}
