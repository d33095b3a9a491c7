import * as v from 'valibot';
import { groupSpreads } from '../../src/core/reward/verification/groupSpread.ts';
import { rowSources } from '../../src/protocol/verification.ts';
import type { ComparedSummary, RowSummary } from '../../src/protocol/verificationMessages.ts';

/** Row filters for verifications and comparisons, in addition to source, group, value range and text. */
export const verifiedKinds = ['all', 'errors', 'nulls', 'failed', 'different', 'dead', 'surprising'] as const;
export const comparedKinds = ['all', 'flipped', 'changed', 'advantage', 'errors'] as const;

export const rowFiltersSchema = v.object({
	kind: v.picklist([...verifiedKinds, ...comparedKinds]),
	source: v.picklist(['any', ...rowSources]),
	/** Group key as returned by `groupKey`, or null for all groups. */
	group: v.nullable(v.string()),
	/** Values from `low` to `high` inclusive. `open` excludes `high` itself. */
	range: v.nullable(v.object({ low: v.number(), high: v.number(), open: v.boolean() })),
	text: v.string(),
});
export type RowFilters = v.InferOutput<typeof rowFiltersSchema>;

export const noFilters: RowFilters = { kind: 'all', source: 'any', group: null, range: null, text: '' };

/** Returns the number of active filters. */
export function activeFilters(filters: RowFilters): number {
	return (Object.keys(noFilters) as (keyof RowFilters)[]).filter((key) => filters[key] !== noFilters[key]).length;
}

/** Returns a group key: the group number, qualified by its step if there is one. */
export const groupKey = (group: number | null, step?: number | null): string | null =>
	group === null ? null : step === undefined ? String(group) : `${step}/${group}`;

/** Values closer than this count as equal. */
const tolerance = 1e-9;

/** Returns whether the value differs from the one recorded by the run. */
export function isUnlikeRecorded({ recorded, value }: Pick<RowSummary, 'recorded' | 'value'>): boolean {
	if (recorded === undefined) return false;
	if (recorded === null || value === null) return recorded !== value;
	return Math.abs(recorded - value) > tolerance;
}

/**
 * Returns the indexes of matching rows, in ascending order. `found` contains the rows that match the search text, or is
 * null if there is no search or its result is not known yet.
 */
export function filterVerified(
	rows: readonly RowSummary[],
	filters: RowFilters,
	found: ReadonlySet<number> | null,
): number[] {
	const { kind, source, group, range } = filters;
	const special = kind === 'dead' ? deadRows(rows) : kind === 'surprising' ? surprisingRows(rows) : null;
	const passes = (row: RowSummary, i: number): boolean => {
		if (found !== null && !found.has(i)) return false;
		if (source !== 'any' && row.source !== source) return false;
		if (group !== null && groupKey(row.group) !== group) return false;
		if (range !== null && !isWithin(row.value, range)) return false;
		switch (kind) {
			case 'errors':
				return row.error !== null;
			case 'nulls':
				return row.value === null && row.error === null;
			case 'failed':
				return row.passed === false;
			case 'different':
				return isUnlikeRecorded(row);
			case 'dead':
			case 'surprising':
				return special?.has(i) === true;
			default:
				return true;
		}
	};
	return numbersOf(rows, passes);
}

/** Like {@link filterVerified}, for comparisons. */
export function filterCompared(
	rows: readonly ComparedSummary[],
	filters: RowFilters,
	found: ReadonlySet<number> | null,
): number[] {
	const { kind, group } = filters;
	const passes = (row: ComparedSummary, i: number): boolean => {
		if (found !== null && !found.has(i)) return false;
		if (group !== null && groupKey(row.group, row.step) !== group) return false;
		switch (kind) {
			case 'flipped':
				return row.flipped;
			case 'changed':
				return isUnlikeRecorded({ recorded: row.before, value: row.after });
			case 'advantage':
				return row.advantageBefore * row.advantageAfter < 0;
			case 'errors':
				return row.error !== null;
			default:
				return true;
		}
	};
	return numbersOf(rows, passes);
}

function numbersOf<T>(rows: readonly T[], passes: (row: T, i: number) => boolean): number[] {
	const numbers: number[] = [];
	for (const [i, row] of rows.entries()) if (passes(row, i)) numbers.push(i);
	return numbers;
}

function isWithin(value: number | null, { low, high, open }: NonNullable<RowFilters['range']>): boolean {
	return value !== null && value >= low && (open ? value < high : value <= high);
}

/** Returns rows in groups whose values are all equal. */
function deadRows(rows: readonly RowSummary[]): Set<number> {
	return new Set(groupSpreads(rows).flatMap((spread) => (spread.dead ? spread.rows : [])));
}

/** Returns correct answers that score no higher than an incorrect one in their group, and those incorrect answers. */
export function surprisingRows(rows: readonly RowSummary[]): Set<number> {
	const surprising = new Set<number>();
	for (const { rows: members } of groupSpreads(rows)) {
		const of = (source: RowSummary['source']) =>
			members.filter((i) => rows[i]?.source === source && rows[i]?.value !== null);
		for (const gold of of('gold')) {
			for (const wrong of of('wrong')) {
				if ((rows[gold]?.value as number) > (rows[wrong]?.value as number)) continue;
				surprising.add(gold).add(wrong);
			}
		}
	}
	return surprising;
}
