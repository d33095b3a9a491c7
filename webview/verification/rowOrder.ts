import { groupSpreads } from '../../src/core/reward/verification/groupSpread.ts';
import type { ComparedSummary, RowSummary } from '../../src/protocol/verificationMessages.ts';

export const verifiedOrders = ['list', 'value-low', 'value-high', 'label', 'spread'] as const;
export const comparedOrders = ['list', 'change', 'advantage-change', 'before', 'after'] as const;
export type RowOrder = (typeof verifiedOrders)[number] | (typeof comparedOrders)[number];

type Key = (i: number) => number | null;

/**
 * Sorts indexes by a key. null sorts last in both directions. Ties put more surprising rows first, then keep list
 * order.
 */
function sortBy(numbers: readonly number[], key: Key, descending: boolean, rank: (i: number) => number = () => 0) {
	return numbers
		.map((i) => ({ i, key: key(i), rank: rank(i) }))
		.sort((a, b) => {
			if (a.key === null || b.key === null) {
				if (a.key !== b.key) return a.key === null ? 1 : -1;
				return a.i - b.i;
			}
			const difference = a.key === b.key ? 0 : a.key < b.key === descending ? 1 : -1;
			return difference || a.rank - b.rank || a.i - b.i;
		})
		.map(({ i }) => i);
}

const labels = new Intl.Collator('en', { numeric: true });

/**
 * Sorts verification rows. Among equal values, correct answers come first if the lowest values are listed first, and
 * incorrect answers come first if the highest values are listed first.
 */
export function sortVerified(rows: readonly RowSummary[], numbers: readonly number[], order: RowOrder): number[] {
	const value: Key = (i) => rows[i]?.value ?? null;
	const after = (source: RowSummary['source']) => (i: number) => (rows[i]?.source === source ? 0 : 1);
	switch (order) {
		case 'value-low':
			return sortBy(numbers, value, false, after('gold'));
		case 'value-high':
			return sortBy(numbers, value, true, after('wrong'));
		case 'label':
			return [...numbers].sort((a, b) => labels.compare(rows[a]?.label ?? '', rows[b]?.label ?? '') || a - b);
		case 'spread': {
			const spreads = new Map(groupSpreads(rows).map(({ group, std }) => [group, std]));
			return sortBy(
				numbers,
				(i) => spreads.get(rows[i]?.group ?? -1) ?? null,
				true,
				(i) => rows[i]?.group ?? 0,
			);
		}
		default:
			return [...numbers];
	}
}

/** Sorts comparison rows, largest change or value first. */
export function sortCompared(rows: readonly ComparedSummary[], numbers: readonly number[], order: RowOrder): number[] {
	const row = (i: number) => rows[i] as ComparedSummary;
	switch (order) {
		case 'change': {
			// A change to or from null counts as the largest.
			const change: Key = (i) => {
				const { before, after } = row(i);
				if (before === null || after === null) return before === after ? 0 : Number.POSITIVE_INFINITY;
				return Math.abs(after - before);
			};
			return sortBy(numbers, change, true);
		}
		case 'advantage-change':
			return sortBy(numbers, (i) => Math.abs(row(i).advantageAfter - row(i).advantageBefore), true);
		case 'before':
			return sortBy(numbers, (i) => row(i).before, true);
		case 'after':
			return sortBy(numbers, (i) => row(i).after, true);
		default:
			return [...numbers];
	}
}
