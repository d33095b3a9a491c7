import type { MetricTable } from '../../src/core/metrics/metricTable.ts';
import type { Range } from '../lib/charts/plotLink.ts';

/** Consecutive rows of one stage. */
export interface StageRange {
	/** Stage name, numbered from its second occurrence onward: "grpo 2". */
	readonly label: string;
	readonly from: number;
	/** Last row, inclusive. */
	readonly to: number;
}

/** Returns a run's stages in execution order. */
export function stageRanges(table: MetricTable): StageRange[] {
	const ranges: StageRange[] = [];
	const times = new Map<string, number>();
	let from = 0;
	for (let row = 1; row <= table.length; row++) {
		const name = table.stageAt(from) as string;
		if (row < table.length && table.stageAt(row) === name) continue;
		const count = (times.get(name) ?? 0) + 1;
		times.set(name, count);
		ranges.push({ label: count === 1 ? name : `${name} ${count}`, from, to: row - 1 });
		from = row;
	}
	return ranges;
}

/** Returns the index of the visible stage, 'all' if everything is visible, and null for any other range. */
export function stageInView(ranges: readonly StageRange[], x: Float64Array, view: Range | null): number | 'all' | null {
	if (view === null) return 'all';
	const index = ranges.findIndex(({ from, to }) => x[from] === view.min && x[to] === view.max);
	return index < 0 ? null : index;
}
