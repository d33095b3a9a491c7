import { behaviors } from '../../src/core/trace/behaviorNames.ts';
import type { BehaviorRow } from '../../src/protocol/explorerMessages.ts';
import type { ColumnSource, GapStyle } from '../lib/charts/chartSpec.ts';

export type BehaviorExample = BehaviorRow['examples'][number] & { readonly step: number };
export const behaviorMeasures = ['share', 'count'] as const;
/** Fraction of rollouts with a behavior, or mean number of occurrences per rollout. */
export type BehaviorMeasure = (typeof behaviorMeasures)[number];

/** Behavior counts over the steps read so far, used as chart data. */
export class BehaviorHistory implements ColumnSource {
	readonly rows: readonly BehaviorRow[];
	readonly steps: Float64Array;
	readonly #columns = new Map<string, Float64Array>();

	constructor(rows: readonly BehaviorRow[]) {
		this.rows = rows;
		this.steps = Float64Array.from(rows, (row) => row.step);
		for (const [i, behavior] of behaviors.entries()) {
			const mean = (counts: (row: BehaviorRow) => readonly number[]) =>
				Float64Array.from(rows, (row) => (row.rollouts === 0 ? Number.NaN : (counts(row)[i] ?? 0) / row.rollouts));
			this.#columns.set(
				`share.${behavior}`,
				mean((row) => row.showing),
			);
			this.#columns.set(
				`count.${behavior}`,
				mean((row) => row.total),
			);
		}
	}

	get length(): number {
		return this.rows.length;
	}

	column(name: string): Float64Array | undefined {
		return this.#columns.get(name);
	}

	smoothed(name: string): Float64Array | undefined {
		return this.#columns.get(name);
	}

	gaps(): GapStyle {
		return 'bridged';
	}

	/** Returns examples of a behavior in step order, at most one per step; the first is its first occurrence. */
	examples(behavior: number): BehaviorExample[] {
		return this.rows.flatMap((row) =>
			row.examples.filter((one) => one.behavior === behavior).map((one) => ({ ...one, step: row.step })),
		);
	}

	/**
	 * Returns the fraction of rollouts in the first and last tenth of the steps read; null if no steps have been read.
	 */
	change(behavior: number): { readonly first: number; readonly last: number } | null {
		const values = this.column(`share.${behaviors[behavior]}`);
		if (!values || values.length === 0) return null;
		const few = Math.max(1, Math.floor(values.length / 10));
		const mean = (part: Float64Array) => part.reduce((sum, value) => sum + value, 0) / part.length;
		return { first: mean(values.subarray(0, few)), last: mean(values.subarray(values.length - few)) };
	}
}

/** Picks evenly spaced items from a list, including the first and the last. */
export function spread<T>(items: readonly T[], limit: number): T[] {
	if (items.length <= limit) return [...items];
	return Array.from({ length: limit }, (_, i) => items[Math.round((i * (items.length - 1)) / (limit - 1))] as T);
}
