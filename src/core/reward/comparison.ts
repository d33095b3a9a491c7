import type { ComparedGroup, ComparedRow, Comparison } from '../../protocol/comparison.ts';
import type { AdvantageSettings } from '../grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../grpo/advantages/estimate.ts';
import { correlation } from './verification/correlation.ts';
import { moments } from './verification/moments.ts';

/** One recorded rollout with its value on both sides of the comparison. */
export interface RowToCompare
	extends Pick<ComparedRow, 'step' | 'group' | 'index' | 'prompt' | 'completion' | 'answer' | 'truncated' | 'error'> {
	readonly before: number | null;
	readonly after: number | null;
}

/** Values that differ by less than this are considered equal. */
const tolerance = 1e-9;

/** Returns the 1-based ranks of the values in ascending order; ties get their mean rank. */
export function meanRanks(values: readonly number[]): number[] {
	const order = values.map((_, i) => i).sort((a, b) => (values[a] as number) - (values[b] as number));
	const ranks = new Array<number>(values.length);
	for (let start = 0; start < order.length; ) {
		let end = start + 1;
		while (end < order.length && values[order[end] as number] === values[order[start] as number]) end++;
		for (let i = start; i < end; i++) ranks[order[i] as number] = (start + 1 + end) / 2;
		start = end;
	}
	return ranks;
}

/**
 * Returns the Spearman rank correlation (the Pearson correlation of the mean ranks) over the rows where both sides have
 * a value. null if there are fewer than two such rows or either side is constant.
 */
export function rankCorrelation(a: readonly (number | null)[], b: readonly (number | null)[]): number | null {
	const x: number[] = [];
	const y: number[] = [];
	for (const [i, value] of a.entries()) {
		const other = b[i] ?? null;
		if (value === null || other === null) continue;
		x.push(value);
		y.push(other);
	}
	const ranks = [meanRanks(x), meanRanks(y)] as const;
	if (x.length !== 2) return correlation(...ranks);
	// Compares the order of two rows on both sides: same, opposite, or tied.
	const [a1 = 0, a2 = 0] = ranks[0];
	const [b1 = 0, b2 = 0] = ranks[1];
	return a1 === a2 || b1 === b2 ? null : a1 < a2 === b1 < b2 ? 1 : -1;
}

/** Returns the row indices of each group, by step, with groups in order of first occurrence. */
function groupsOf(rows: readonly Pick<RowToCompare, 'step' | 'group'>[]): Map<number | null, number[][]> {
	const steps = new Map<number | null, Map<number, number[]>>();
	for (const [i, { step, group }] of rows.entries()) {
		const groups = steps.get(step) ?? new Map<number, number[]>();
		steps.set(step, groups);
		const members = groups.get(group);
		if (members === undefined) groups.set(group, [i]);
		else members.push(i);
	}
	return new Map([...steps].map(([step, groups]) => [step, [...groups.values()]]));
}

/**
 * Computes the advantages in one generation batch with `estimateAdvantages`; groups smaller than the largest one are
 * padded with nulls.
 */
function advantagesOf(values: readonly (number | null)[], groups: readonly number[][], settings: AdvantageSettings) {
	const size = Math.max(...groups.map((members) => members.length));
	const filled = groups.flatMap((members) => Array.from({ length: size }, (_, i) => valueAt(values, members[i])));
	const rows = filled.map((value) => ({ values: [value], reward: value }));
	const { values: computed, dead, groupStd } = estimateAdvantages(rows, [1], size, settings);
	const advantages = new Map<number, number>();
	for (const [g, members] of groups.entries()) {
		for (const [i, member] of members.entries()) advantages.set(member, computed[g * size + i] as number);
	}
	return { advantages, dead, std: [...groupStd].map((std) => (Number.isNaN(std) ? 0 : std)) };
}

const valueAt = (values: readonly (number | null)[], i: number | undefined) =>
	i === undefined ? null : (values[i] ?? null);

const varianceWords = { true: { true: 'dead', false: 'gained' }, false: { true: 'lost', false: 'alive' } } as const;

const isChanged = (before: number | null, after: number | null) =>
	before === null || after === null ? before !== after : Math.abs(before - after) > tolerance;

const valued = (values: readonly (number | null)[]) => values.filter((value) => value !== null);

/** Flags rows that cross the midpoint of the combined value range of both sides, or that change to or from null. */
export function flippedRows(rows: readonly Pick<RowToCompare, 'before' | 'after'>[]): boolean[] {
	const range = moments(valued(rows.flatMap(({ before, after }) => [before, after])));
	const middle = range === null ? 0 : range.min / 2 + range.max / 2;
	return rows.map(({ before: a, after: b }) =>
		a === null || b === null ? a !== b : a > middle !== b > middle && isChanged(a, b),
	);
}

/**
 * Compares two rewards, or two weightings, over recorded rollouts. The rows in a step form one generation batch; the
 * settings are those of the run's stage.
 */
export function compareRows(
	rows: readonly RowToCompare[],
	settings: AdvantageSettings,
): Pick<Comparison, 'rows' | 'groups' | 'summary' | 'steps'> {
	const before = rows.map((row) => row.before);
	const after = rows.map((row) => row.after);
	const advantageBefore = new Map<number, number>();
	const advantageAfter = new Map<number, number>();
	const groups: ComparedGroup[] = [];
	for (const [step, members] of groupsOf(rows)) {
		const old = advantagesOf(before, members, settings);
		const now = advantagesOf(after, members, settings);
		for (const [i, value] of old.advantages) advantageBefore.set(i, value);
		for (const [i, value] of now.advantages) advantageAfter.set(i, value);
		for (const [g, own] of members.entries()) {
			const wasDead = old.dead[g] as boolean;
			const isDead = now.dead[g] as boolean;
			groups.push({
				step,
				group: (rows[own[0] as number] as RowToCompare).group,
				stdBefore: wasDead ? 0 : (old.std[g] as number),
				stdAfter: isDead ? 0 : (now.std[g] as number),
				variance: varianceWords[`${wasDead}`][`${isDead}`],
				rankCorrelation: rankCorrelation(
					own.map((i) => before[i] ?? null),
					own.map((i) => after[i] ?? null),
				),
			});
		}
	}
	const compared = rows.map(
		(row, i): ComparedRow => ({
			...row,
			advantageBefore: advantageBefore.get(i) as number,
			advantageAfter: advantageAfter.get(i) as number,
		}),
	);
	const correlations = valued(groups.map((group) => group.rankCorrelation));
	return {
		steps: [...new Set(rows.flatMap(({ step }) => step ?? []))].sort((a, b) => a - b),
		rows: compared,
		groups,
		summary: {
			meanBefore: moments(valued(before))?.mean ?? null,
			meanAfter: moments(valued(after))?.mean ?? null,
			flipped: flippedRows(rows).filter(Boolean).length,
			changed: rows.filter((row) => isChanged(row.before, row.after)).length,
			rankCorrelation: moments(correlations)?.mean ?? null,
			gained: groups.filter(({ variance }) => variance === 'gained').length,
			lost: groups.filter(({ variance }) => variance === 'lost').length,
			advantageFlips: compared.filter((row) => row.advantageBefore * row.advantageAfter < 0).length,
		},
	};
}
