import type { GroupSummary } from '../../src/protocol/rolloutsMessages.ts';
import type { FilteredGroup } from './filters.ts';

export const rowOrders = ['index', 'reward', 'advantage', 'length'] as const;
export type RowOrder = (typeof rowOrders)[number];
export const groupOrders = ['file', 'reward-high', 'reward-low', 'spread', 'correct'] as const;
export type GroupOrder = (typeof groupOrders)[number];

/** Compares numbers. null sorts last in both directions. */
function compare(a: number | null | undefined, b: number | null | undefined, descending: boolean): number {
	const x = a ?? null;
	const y = b ?? null;
	if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
	return descending ? y - x : x - y;
}

/**
 * Sorts the rows in a group: reward, advantage and length in descending order, index in ascending order. Ties are
 * broken by index.
 */
export function sortRows(summary: GroupSummary, rows: readonly number[], order: RowOrder): number[] {
	const column = order === 'index' ? summary.index : summary[order];
	return [...rows].sort(
		(a, b) =>
			compare(column[a], column[b], order !== 'index') || (summary.index[a] ?? 0) - (summary.index[b] ?? 0) || a - b,
	);
}

/** Sorts groups. Ties keep file order. `spread` sorts by descending reward standard deviation. */
export function sortGroups(groups: readonly FilteredGroup[], order: GroupOrder): FilteredGroup[] {
	if (order === 'file') return [...groups];
	const share = (g: GroupSummary) => {
		const judged = g.correct.filter((c) => c !== null);
		return judged.length === 0 ? null : judged.filter(Boolean).length / judged.length;
	};
	const key = {
		'reward-high': (g: GroupSummary) => g.mean,
		'reward-low': (g: GroupSummary) => g.mean,
		spread: (g: GroupSummary) => g.std,
		correct: share,
	}[order];
	return groups
		.map((group, at) => ({ group, at, key: key(group.summary) }))
		.sort((a, b) => compare(a.key, b.key, order !== 'reward-low') || a.at - b.at)
		.map((entry) => entry.group);
}

/**
 * Returns the group with the largest reward SD, which carries the strongest signal, or null if there are no groups.
 * Ties go to the first.
 */
export function widestGroup(groups: readonly FilteredGroup[]): number | null {
	return sortGroups(groups, 'spread')[0]?.summary.group ?? null;
}
