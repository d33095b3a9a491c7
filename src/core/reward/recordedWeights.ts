import { type Eigen, symmetricEigen } from './symmetricEigen.ts';

/*
 * Infers reward weights from trainer records: a total is the weighted sum of the scores, and an advantage is the total
 * minus its group mean, divided by a positive number shared by the group.
 */

/** Mean score of each reward function, in order, and the recorded total for the same rollouts. */
export interface RecordedTotal {
	readonly scores: readonly number[];
	readonly total: number;
}

/** Rollouts in one group: scores per function (missing scores count as 0) and advantages. */
export interface RecordedGroup {
	readonly scores: readonly (readonly number[])[];
	readonly advantages: readonly number[];
}

export interface RecordedWeights {
	/** Weights in function order; 1 if undetermined. */
	readonly weights: readonly number[];
	/** Whether the records determine each weight; only up to a common factor if `scaled` is false. */
	readonly determined: readonly boolean[];
	readonly scaled: boolean;
	/** Whether the weights reproduce the recorded totals and advantages; null if none were recorded. */
	readonly totalsFit: boolean | null;
	readonly advantagesFit: boolean | null;
}

/** Maximum number of reward functions. */
const maxFunctions = 32;
/** Relative rounding error of totals, which are float32 means of means. */
const rounding = 3e-7;
/** Relative tolerance for recorded totals. */
const totalTolerance = 1e-5;
/**
 * Thresholds for the fraction of the squared score deviation that is not parallel to the advantages. Values below
 * `parallel` are rounding errors, and values above `apart` are mismatches.
 */
const parallel = 1e-8;
const apart = 1e-6;
/** Weights with more uncertainty than this are undetermined. */
const precision = 1e-3;

export function recordedWeights(
	functions: number,
	totals: readonly RecordedTotal[],
	groups: readonly RecordedGroup[],
): RecordedWeights {
	const ones = Array.from({ length: functions }, () => 1);
	const none = {
		weights: ones,
		determined: ones.map(() => false),
		scaled: false,
		totalsFit: null,
		advantagesFit: null,
	};
	if (functions === 0 || functions > maxFunctions) return none;
	const centered = groups.map(centeredGroup).filter((group) => group !== null);
	const sizes = sizesOf(functions, totals, centered);
	const order = orderOf(centered, sizes);
	const advantagesFit = order === null ? null : order.fits;
	// Directions, scaled per function, along which the advantages do not determine the weights.
	const open = order?.fits ? order.open : ones.map((_, i) => ones.map((_, j) => Number(i === j)));
	const fromTotals = solve(totals, open, sizes);
	if (fromTotals?.fits) {
		return {
			weights: fromTotals.weights,
			determined: fromTotals.determined,
			scaled: true,
			totalsFit: true,
			advantagesFit,
		};
	}
	const totalsFit = fromTotals === null ? null : false;
	if (!order?.fits) return { ...none, totalsFit, advantagesFit };
	const ratio = proportions(open, sizes, centered);
	return ratio === null
		? { ...none, totalsFit, advantagesFit: false }
		: { ...ratio, scaled: false, totalsFit, advantagesFit };
}

/** Scores and advantages with the group mean subtracted. */
interface CenteredGroup {
	readonly scores: readonly (readonly number[])[];
	readonly advantages: readonly number[];
	/** Norm of the advantages. */
	readonly length: number;
}

function centeredGroup({ scores, advantages }: RecordedGroup): CenteredGroup | null {
	if (advantages.length < 2) return null;
	const without = (values: readonly number[]) => {
		const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
		return values.map((value) => value - mean);
	};
	const columns = (scores[0] ?? []).map((_, k) => without(scores.map((row) => row[k] ?? 0)));
	const centered = without(advantages);
	return {
		scores: scores.map((_, i) => columns.map((column) => column[i] as number)),
		advantages: centered,
		length: Math.hypot(...centered),
	};
}

/**
 * Returns the typical scale of each function, used to give all functions equal influence; 1 for a function that is
 * always 0.
 */
function sizesOf(functions: number, totals: readonly RecordedTotal[], groups: readonly CenteredGroup[]): number[] {
	return Array.from({ length: functions }, (_, k) => {
		const rms = (values: readonly number[]) =>
			values.length === 0 ? 0 : Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
		const size = Math.max(
			rms(totals.map(({ scores }) => scores[k] ?? 0)),
			rms(groups.flatMap(({ scores }) => scores.map((row) => row[k] as number))),
		);
		return size > 0 ? size : 1;
	});
}

/**
 * Finds the weight directions whose totals are parallel to the advantages in every group; null if no group is
 * informative.
 */
function orderOf(
	groups: readonly CenteredGroup[],
	sizes: readonly number[],
): { fits: boolean; open: number[][] } | null {
	const longest = groups.reduce((max, { length }) => Math.max(max, length), 0);
	const matrix = sizes.map(() => sizes.map(() => 0));
	let informative = 0;
	for (const { scores, advantages, length } of groups) {
		// Near-equal totals contain only rounding noise, which points in an arbitrary direction.
		if (length > 0 && length < longest * 1e-2) continue;
		const scaled = scores.map((row) => row.map((value, k) => value / (sizes[k] as number)));
		const square = scaled.reduce((sum, row) => sum + row.reduce((all, value) => all + value * value, 0), 0);
		if (square === 0) continue;
		informative++;
		// With equal advantages, any variation in the totals is a mismatch.
		const along = sizes.map((_, k) =>
			length === 0
				? 0
				: scaled.reduce((sum, row, i) => sum + ((row[k] as number) * (advantages[i] as number)) / length, 0),
		);
		for (const [j, row] of matrix.entries()) {
			for (const k of row.keys()) {
				const both = scaled.reduce((sum, one) => sum + (one[j] as number) * (one[k] as number), 0);
				row[k] = (row[k] as number) + (both - (along[j] as number) * (along[k] as number)) / square;
			}
		}
	}
	if (informative === 0) return null;
	const { values, vectors } = symmetricEigen(matrix.map((row) => row.map((value) => value / informative)));
	const open = vectors.filter((_, i) => (values[i] as number) < apart).map((vector) => [...vector]);
	return { fits: (values[0] as number) < parallel, open };
}

interface Solution {
	readonly fits: boolean;
	readonly weights: number[];
	readonly determined: boolean[];
}

/** Finds the weights closest to 1 that reproduce the totals within the span of `open`; null without totals. */
function solve(
	totals: readonly RecordedTotal[],
	open: readonly (readonly number[])[],
	sizes: readonly number[],
): Solution | null {
	if (totals.length === 0) return null;
	const rows = totals.map(({ scores }) =>
		open.map((direction) =>
			direction.reduce((sum, part, k) => sum + (part * (scores[k] ?? 0)) / (sizes[k] as number), 0),
		),
	);
	const unit = Math.max(
		sizes.reduce((max, size) => Math.max(max, size), 0),
		Math.sqrt(totals.reduce((sum, { total }) => sum + total * total, 0) / totals.length),
	);
	const start = open.map((direction) => direction.reduce((sum, part, k) => sum + part * (sizes[k] as number), 0));
	const product = (row: readonly number[], z: readonly number[]) =>
		row.reduce((sum, value, i) => sum + value * (z[i] as number), 0);
	const missing = totals.map(({ total }, t) => total - product(rows[t] as number[], start));
	const normal = open.map((_, i) =>
		open.map((_, j) => rows.reduce((sum, row) => sum + (row[i] as number) * (row[j] as number), 0)),
	);
	const right = open.map((_, i) => rows.reduce((sum, row, t) => sum + (row[i] as number) * (missing[t] as number), 0));
	const eigen = symmetricEigen(normal);
	const z = [...start];
	const known = eigen.values.map((value) => value > 0 && (rounding * unit) / Math.sqrt(value) < precision * unit);
	for (const [d, vector] of eigen.vectors.entries()) {
		if (!known[d]) continue;
		const step = product(right, vector) / (eigen.values[d] as number);
		for (const [i, part] of vector.entries()) z[i] = (z[i] as number) + step * part;
	}
	const exact = sizes.map(
		(size, k) => open.reduce((sum, direction, i) => sum + (direction[k] as number) * (z[i] as number), 0) / size,
	);
	const errors = errorsOf(eigen, known, open, sizes, rounding * unit);
	const determined = errors.map((error, k) => error <= precision * Math.max(1, Math.abs(exact[k] as number)));
	const fits = (weights: readonly number[]) =>
		totals.every(({ scores, total }) => {
			const parts = weights.map((weight, k) => weight * (scores[k] ?? 0));
			const size = parts.reduce((sum, part) => sum + Math.abs(part), Math.abs(total));
			return Math.abs(parts.reduce((sum, part) => sum + part, -total)) <= totalTolerance * Math.max(size, 1e-3);
		});
	const plain = exact.map((weight, k) => (determined[k] ? plainNumber(weight, errors[k] as number) : weight));
	const weights = fits(plain) ? plain : exact;
	return { fits: fits(weights), weights, determined };
}

/** Uncertainty of each weight; Infinity for an undetermined direction. */
function errorsOf(
	{ values, vectors }: Eigen,
	known: readonly boolean[],
	open: readonly (readonly number[])[],
	sizes: readonly number[],
	noise: number,
): number[] {
	return sizes.map((size, k) => {
		let square = 0;
		for (const [d, vector] of vectors.entries()) {
			const part = vector.reduce((sum, value, i) => sum + value * ((open[i] as number[])[k] as number), 0) / size;
			if (known[d]) square += (part * noise) ** 2 / (values[d] as number);
			else if (Math.abs(part * size) > 1e-6) return Number.POSITIVE_INFINITY;
		}
		return Math.sqrt(square);
	});
}

/** Rounds a weight to the shortest decimal within its uncertainty, unless the match could be a coincidence. */
function plainNumber(weight: number, error: number): number {
	for (let digits = 0; digits <= 6; digits++) {
		const tolerance = Math.max(4 * error, 1e-9);
		if (tolerance > 0.02 * 10 ** -digits) return weight;
		// Avoids negative zero.
		const plain = Number(weight.toFixed(digits)) + 0;
		if (Math.abs(plain - weight) <= tolerance) return plain;
	}
	return weight;
}

/** Computes weights up to a common factor; null if no positive direction matches the advantages. */
function proportions(
	open: readonly (readonly number[])[],
	sizes: readonly number[],
	groups: readonly CenteredGroup[],
): Pick<RecordedWeights, 'weights' | 'determined'> | null {
	// A function that is constant within every group does not affect the ranking, regardless of its weight.
	const active = sizes.map((_, k) => groups.some(({ scores }) => scores.some((row) => row[k] !== 0)));
	const informativeDirections = open.filter((direction) =>
		direction.some((part, k) => active[k] && Math.abs(part) > 1e-6),
	);
	const start = informativeDirections.map((direction) =>
		direction.reduce((sum, part, k) => sum + part * (sizes[k] as number), 0),
	);
	const factors = informativeDirections.length === 1 ? [1] : start;
	let weights = sizes.map(
		(size, k) =>
			informativeDirections.reduce((sum, direction, i) => sum + (direction[k] as number) * (factors[i] as number), 0) /
			size,
	);
	const along = groups.reduce((sum, { scores, advantages }) => {
		const totals = scores.map((row) => row.reduce((total, value, k) => total + value * (weights[k] as number), 0));
		return sum + totals.reduce((all, total, i) => all + total * (advantages[i] as number), 0);
	}, 0);
	if (along === 0 || (along < 0 && informativeDirections.length > 1)) return null;
	if (along < 0) weights = weights.map((weight) => -weight);
	const largest = Math.max(...weights.map(Math.abs));
	if (informativeDirections.length === 1) weights = weights.map((weight) => plainNumber(weight / largest, 1e-5));
	return {
		weights: weights.map((weight, k) => (active[k] ? weight : 1)),
		determined: active.map((one) => one && informativeDirections.length === 1),
	};
}
