import { canonicalJson } from '../pipeline/canonicalJson.ts';
import type { CurvePoints } from './runCurves.ts';

/** Top-level recipe keys that do not change what a run computes, or that are meant to differ between repetitions. */
const incidental = new Set(['seed', 'name', 'workers', 'whenBusy']);

/**
 * Assigns the same number to runs whose resolved recipes differ only in the seed, name, or resources. The number is
 * null for a run that has no recipe or matches no other run.
 */
export function seedGroups(recipes: readonly unknown[]): (number | null)[] {
	const keys = recipes.map((recipe) => {
		if (typeof recipe !== 'object' || recipe === null) return null;
		return canonicalJson(Object.fromEntries(Object.entries(recipe).filter(([key]) => !incidental.has(key))));
	});
	const several = [...new Set(keys)].filter((key) => key !== null && keys.filter((other) => other === key).length > 1);
	return keys.map((key) => (key === null || !several.includes(key) ? null : several.indexOf(key)));
}

/** Names of the curves one standard deviation below and above a group's mean. */
export const lowOf = (metric: string) => `${metric}\u0000low`;
export const highOf = (metric: string) => `${metric}\u0000high`;

/**
 * Returns the mean over runs at every step common to all of them, plus and minus one sample standard deviation (n - 1).
 * If a value is missing in one run, it is missing in the mean, because a mean over fewer runs would jump. Times are
 * mean seconds since each run's first point.
 * @param runs at least two
 */
export function meanOfRuns(runs: readonly CurvePoints[]): CurvePoints {
	const [first] = runs as readonly [CurvePoints];
	const placed = runs.map(({ step }) => new Map(Array.from(step, (at, i) => [at, i] as const)));
	const steps = Array.from(first.step).filter((at) => placed.every((places) => places.has(at)));
	const rows = steps.map((at) => placed.map((places) => places.get(at) as number));
	const meanAt = (of: (run: CurvePoints) => Float64Array, start = false) =>
		Float64Array.from(rows, (row) => {
			const values = row.map((i, run) => {
				const column = of(runs[run] as CurvePoints);
				return (column[i] as number) - (start ? (column[0] as number) : 0);
			});
			return values.reduce((sum, value) => sum + value, 0) / values.length;
		});
	const names: string[] = [];
	const values: Float64Array[] = [];
	for (const name of first.names) {
		const columns = runs.map((run) => run.values[run.names.indexOf(name)]);
		if (columns.some((column) => column === undefined)) continue;
		const [mean, low, high] = [0, 1, 2].map(() => new Float64Array(rows.length)) as [
			Float64Array,
			Float64Array,
			Float64Array,
		];
		for (const [i, row] of rows.entries()) {
			const own = row.map((at, run) => columns[run]?.[at] as number);
			const center = own.reduce((sum, value) => sum + value, 0) / own.length;
			const squares = own.reduce((sum, value) => sum + (value - center) ** 2, 0);
			const deviation = Math.sqrt(squares / (own.length - 1));
			mean[i] = center;
			low[i] = center - deviation;
			high[i] = center + deviation;
		}
		names.push(name, lowOf(name), highOf(name));
		values.push(mean, low, high);
	}
	return {
		step: Float64Array.from(steps),
		time: meanAt(({ time }) => time, true),
		tokens: meanAt(({ tokens }) => tokens),
		names,
		values,
		rowsPerPoint: Math.max(...runs.map(({ rowsPerPoint }) => rowsPerPoint)),
	};
}
