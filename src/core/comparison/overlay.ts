import type { CurvePoints } from './runCurves.ts';

/** X axis for overlaid curves. Wall time is relative to each run's first point. */
export const overlayAxes = ['step', 'tokens', 'time'] as const;
export type OverlayAxis = (typeof overlayAxes)[number];

/** Several runs on a shared x axis. */
export interface Overlay {
	/** All x positions across runs, ascending and without duplicates. */
	readonly x: Float64Array;
	/** For each run, the index into `x` of each point, or -1 if the point has no position on this axis. */
	readonly rows: readonly Int32Array[];
}

/** Returns the x position of each point: nondecreasing, with NaN for points that have no position. */
export function placesOf({ step, time, tokens }: CurvePoints, axis: OverlayAxis): Float64Array {
	if (axis === 'step') return step;
	if (axis === 'tokens') return rising(tokens, 0);
	return rising(time, time[0] ?? 0);
}

/** Keeps values from moving backward after a clock is set back or a counter restarts. */
function rising(values: Float64Array, start: number): Float64Array {
	const places = new Float64Array(values.length);
	let last = 0;
	for (let i = 0; i < values.length; i++) {
		const value = (values[i] as number) - start;
		if (!Number.isNaN(value)) last = Math.max(last, value);
		places[i] = Number.isNaN(value) ? Number.NaN : last;
	}
	return places;
}

export function overlay(runs: readonly CurvePoints[], axis: OverlayAxis): Overlay {
	const places = runs.map((run) => placesOf(run, axis));
	const all = new Float64Array(places.reduce((sum, list) => sum + list.length, 0));
	let count = 0;
	for (const list of places) for (const place of list) if (!Number.isNaN(place)) all[count++] = place;
	const sorted = all.subarray(0, count).sort();
	let distinct = 0;
	for (let i = 0; i < count; i++) {
		if (distinct === 0 || sorted[i] !== sorted[distinct - 1]) sorted[distinct++] = sorted[i] as number;
	}
	const x = sorted.slice(0, distinct);
	return { x, rows: places.map((list) => rowsIn(x, list)) };
}

function rowsIn(x: Float64Array, places: Float64Array): Int32Array {
	const rows = new Int32Array(places.length).fill(-1);
	let row = 0;
	for (let i = 0; i < places.length; i++) {
		const place = places[i] as number;
		if (Number.isNaN(place)) continue;
		while (row < x.length && (x[row] as number) < place) row++;
		rows[i] = row;
	}
	return rows;
}

/**
 * Returns a run's metric aligned with the shared axis, with NaN where the run has no point. If several points share a
 * position, the last one wins.
 */
export function columnOn(overlaid: Overlay, run: number, values: Float64Array): Float64Array {
	const column = new Float64Array(overlaid.x.length).fill(Number.NaN);
	const rows = overlaid.rows[run];
	if (rows === undefined) return column;
	for (let i = 0; i < rows.length && i < values.length; i++) {
		const row = rows[i] as number;
		if (row >= 0 && !Number.isNaN(values[i])) column[row] = values[i] as number;
	}
	return column;
}

/** Returns the metrics shared by at least two runs, in order of first appearance. */
export function sharedNames(runs: readonly (readonly string[])[]): string[] {
	const counts = new Map<string, number>();
	for (const names of runs) for (const name of new Set(names)) counts.set(name, (counts.get(name) ?? 0) + 1);
	return [...counts].filter(([, count]) => count > 1).map(([name]) => name);
}
