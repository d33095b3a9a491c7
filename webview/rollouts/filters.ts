import * as v from 'valibot';
import type { GroupSummary } from '../../src/protocol/rolloutsMessages.ts';

export const advantageSigns = ['any', 'positive', 'zero', 'negative'] as const;
export const correctnesses = ['any', 'correct', 'wrong', 'unknown'] as const;
export const truncations = ['any', 'truncated', 'complete', 'unknown'] as const;

export const filtersSchema = v.object({
	/**
	 * Inclusive bounds on the total reward; null for no bound. Rollouts without a reward do not match if a bound is set.
	 */
	rewardLow: v.nullable(v.number()),
	rewardHigh: v.nullable(v.number()),
	advantage: v.picklist(advantageSigns),
	correctness: v.picklist(correctnesses),
	truncation: v.picklist(truncations),
	/** Hides groups in which all rewards are equal. */
	hideDead: v.boolean(),
	text: v.string(),
});
export type Filters = v.InferOutput<typeof filtersSchema>;

export const noFilters: Filters = {
	rewardLow: null,
	rewardHigh: null,
	advantage: 'any',
	correctness: 'any',
	truncation: 'any',
	hideDead: false,
	text: '',
};

/** Parses a bound; returns 'none' for empty text and null if it is not a number. */
export function parseBound(text: string): number | 'none' | null {
	const trimmed = text.trim().replace('\u2212', '-').replace(',', '.');
	if (trimmed === '') return 'none';
	const value = Number(trimmed);
	return Number.isFinite(value) ? value : null;
}

/** Returns the number of active conditions; the search text counts as one. */
export function activeFilters(filters: Filters): number {
	let active = 0;
	if (filters.rewardLow !== null || filters.rewardHigh !== null) active++;
	if (filters.advantage !== 'any') active++;
	if (filters.correctness !== 'any') active++;
	if (filters.truncation !== 'any') active++;
	if (filters.hideDead) active++;
	if (filters.text !== '') active++;
	return active;
}

/** Number of occurrences of the search text: group -> rollout index -> count. */
export type Found = ReadonlyMap<number, ReadonlyMap<number, number>>;

export function foundFromColumns(columns: {
	readonly group: readonly number[];
	readonly index: readonly number[];
	readonly count: readonly number[];
}): Found {
	const found = new Map<number, Map<number, number>>();
	for (let i = 0; i < columns.group.length; i++) {
		const group = columns.group[i] as number;
		const byIndex = found.get(group) ?? new Map<number, number>();
		byIndex.set(columns.index[i] as number, columns.count[i] ?? 0);
		found.set(group, byIndex);
	}
	return found;
}

/** Threshold below which an advantage counts as zero; needed because advantages are floating-point sums. */
const zeroAdvantage = 1e-9;

function signMatches(advantage: number | null, wanted: Filters['advantage']): boolean {
	if (wanted === 'any') return true;
	if (advantage === null) return false;
	if (wanted === 'zero') return Math.abs(advantage) <= zeroAdvantage;
	return wanted === 'positive' ? advantage > zeroAdvantage : advantage < -zeroAdvantage;
}

/**
 * Returns whether row `i` in a group matches. While the text search is pending, `found` is null and the text condition
 * matches everything to avoid flicker.
 */
export function rowPasses(group: GroupSummary, i: number, filters: Filters, found: Found | null): boolean {
	if (filters.hideDead && group.dead) return false;
	const reward = group.reward[i] ?? null;
	if (filters.rewardLow !== null && (reward === null || reward < filters.rewardLow)) return false;
	if (filters.rewardHigh !== null && (reward === null || reward > filters.rewardHigh)) return false;
	if (!signMatches(group.advantage[i] ?? null, filters.advantage)) return false;
	if (filters.correctness === 'correct' && group.correct[i] !== true) return false;
	if (filters.correctness === 'wrong' && group.correct[i] !== false) return false;
	if (filters.correctness === 'unknown' && (group.correct[i] ?? null) !== null) return false;
	if (filters.truncation === 'truncated' && group.truncated[i] !== true) return false;
	if (filters.truncation === 'complete' && group.truncated[i] !== false) return false;
	if (filters.truncation === 'unknown' && (group.truncated[i] ?? null) !== null) return false;
	if (filters.text !== '' && found !== null) {
		const count = found.get(group.group)?.get(group.index[i] as number) ?? 0;
		if (count === 0) return false;
	}
	return true;
}

export interface FilteredGroup {
	readonly summary: GroupSummary;
	/** Matching rows (positions in the summary columns), in file order. */
	readonly rows: readonly number[];
	/** Number of occurrences of the search text in the matching rows. */
	readonly occurrences: number;
}

/** Returns the groups with at least one matching row, in file order. */
export function filterGroups(groups: readonly GroupSummary[], filters: Filters, found: Found | null): FilteredGroup[] {
	const passing: FilteredGroup[] = [];
	for (const summary of groups) {
		const rows: number[] = [];
		let occurrences = 0;
		for (let i = 0; i < summary.index.length; i++) {
			if (!rowPasses(summary, i, filters, found)) continue;
			rows.push(i);
			occurrences += found?.get(summary.group)?.get(summary.index[i] as number) ?? 0;
		}
		if (rows.length > 0) passing.push({ summary, rows, occurrences });
	}
	return passing;
}
