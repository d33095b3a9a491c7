import * as v from 'valibot';
import type { GroupSummary } from '../../src/protocol/rolloutsMessages.ts';

export const advantageSigns = ['any', 'positive', 'zero', 'negative'] as const;
export const correctnesses = ['any', 'correct', 'wrong', 'unknown'] as const;
export const truncations = ['any', 'truncated', 'complete', 'unknown'] as const;

export const filtersSchema = v.object({
	/** Inclusive bounds of the total reward; null: no bound. A rollout without a reward fails any bound. */
	rewardLow: v.nullable(v.number()),
	rewardHigh: v.nullable(v.number()),
	advantage: v.picklist(advantageSigns),
	correctness: v.picklist(correctnesses),
	truncation: v.picklist(truncations),
	/** Hides groups whose rewards are all equal. */
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

/** Parses a bound; empty: no bound, null: not a number. */
export function parseBound(text: string): number | 'none' | null {
	const trimmed = text.trim().replace('\u2212', '-').replace(',', '.');
	if (trimmed === '') return 'none';
	const value = Number(trimmed);
	return Number.isFinite(value) ? value : null;
}

/** Number of active conditions; the text counts as one. */
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

/** Occurrences of the search text: group -> rollout index -> count. */
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

/** Advantages are floating-point sums; anything below this counts as zero. */
const zeroAdvantage = 1e-9;

function signMatches(advantage: number | null, wanted: Filters['advantage']): boolean {
	if (wanted === 'any') return true;
	if (advantage === null) return false;
	if (wanted === 'zero') return Math.abs(advantage) <= zeroAdvantage;
	return wanted === 'positive' ? advantage > zeroAdvantage : advantage < -zeroAdvantage;
}

/**
 * Whether row `i` of a group matches. `found` is null while the text search is pending: the text condition then matches
 * everything, so that rows do not flicker.
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
	/** Matching rows (positions in the summary's columns), in file order. */
	readonly rows: readonly number[];
	/** Occurrences of the search text in the matching rows. */
	readonly occurrences: number;
}

/** Groups with at least one matching row, in file order. */
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
