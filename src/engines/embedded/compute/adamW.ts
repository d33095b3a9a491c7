import type { OptimizerSettings, ParameterSpec } from '../learner.ts';
import { elementCount } from '../model/parameters.ts';

/**
 * Optimizer update arithmetic over ranges of the flat vectors. Ranges start at multiples of the block size, so the
 * result does not depend on the number of workers.
 */

/** Number of elements whose squares are summed into one value. */
export const blockSize = 1 << 16;

/** Element range [start, end). */
export interface Range {
	readonly start: number;
	readonly end: number;
}

/** Splits [0, count) at block boundaries into at most `parts` ranges of similar size. */
export function blockRanges(count: number, parts: number): Range[] {
	const blocks = Math.ceil(count / blockSize);
	const used = Math.max(1, Math.min(parts, blocks));
	return Array.from({ length: used }, (_, i) => ({
		start: Math.floor((i * blocks) / used) * blockSize,
		end: Math.min(count, Math.floor(((i + 1) * blocks) / used) * blockSize),
	}));
}

/**
 * Number of elements per loop call, small enough for the CPU cache. Each loop is a separate function that is called
 * many times: V8 optimizes a rarely called function only while its loop runs and then discards the result, so every
 * update would start slowly.
 */
const piece = 1 << 13;

/** Calls a function for each piece of a range. */
function forEachPiece(start: number, end: number, take: (from: number, to: number) => void): void {
	for (let from = start; from < end; from += piece) take(from, Math.min(end, from + piece));
}

/**
 * Adds four gradients with the same result as adding them one at a time, in the same order, with each sum rounded to
 * single precision.
 */
function addFour(total: Float32Array, parts: readonly Float32Array[], start: number, end: number): void {
	const [a, b, c, d] = parts as [Float32Array, Float32Array, Float32Array, Float32Array];
	const round = Math.fround;
	for (let i = start; i < end; i++) {
		const two = round(round((total[i] as number) + (a[i] as number)) + (b[i] as number));
		total[i] = round(two + (c[i] as number)) + (d[i] as number);
	}
}

function addOne(total: Float32Array, part: Float32Array, start: number, end: number): void {
	for (let i = start; i < end; i++) total[i] = (total[i] as number) + (part[i] as number);
}

/** Returns `sum` plus the squares of some elements, added one by one. */
function addSquares(sum: number, values: Float32Array, start: number, end: number): number {
	let all = sum;
	for (let i = start; i < end; i++) all += (values[i] as number) * (values[i] as number);
	return all;
}

/**
 * Adds gradients to a total, in order: total = total + parts[0] + parts[1] + ... With `fresh`, discards the previous
 * total first. Returns the sum of squares of the new total for each block, in double precision.
 */
export function addGradients(
	total: Float32Array,
	parts: readonly Float32Array[],
	{ start, end }: Range,
	fresh: boolean,
): Float64Array<ArrayBuffer> {
	if (fresh) total.fill(0, start, end);
	// Four gradients at a time, to read and write the total less often.
	forEachPiece(start, end, (from, to) => {
		let next = 0;
		for (; next + 4 <= parts.length; next += 4) addFour(total, parts.slice(next, next + 4), from, to);
		for (; next < parts.length; next++) addOne(total, parts[next] as Float32Array, from, to);
	});
	const squares = new Float64Array(Math.ceil((end - start) / blockSize));
	for (let block = 0; block < squares.length; block++) {
		const first = start + block * blockSize;
		let sum = 0;
		forEachPiece(first, Math.min(end, first + blockSize), (from, to) => {
			sum = addSquares(sum, total, from, to);
		});
		squares[block] = sum;
	}
	return squares;
}

/**
 * Returns the factor that scales a gradient to a norm of at most `maxNorm` (torch.nn.utils.clip_grad_norm_). 0 means no
 * limit.
 */
export function clipScale(norm: number, maxNorm: number): number {
	return maxNorm > 0 ? Math.min(1, maxNorm / (norm + 1e-6)) : 1;
}

/** Flat vectors involved in an update, all of equal length. */
export interface UpdateVectors {
	readonly parameters: Float32Array;
	readonly gradient: Float32Array;
	readonly firstMoments: Float32Array;
	readonly secondMoments: Float32Array;
}

/**
 * In-place AdamW (Loshchilov and Hutter 2019, algorithm 2, with the order of operations of torch.optim.AdamW): p -= lr
 * decay p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps).
 * `update` is t, 1-based; `scale` multiplies the gradient. Decay applies only to parameters marked for it in their
 * specs.
 */
export function adamW(
	vectors: UpdateVectors,
	specs: readonly ParameterSpec[],
	settings: OptimizerSettings,
	update: number,
	scale: number,
	range: Range,
): void {
	const { learningRate, beta1, beta2, epsilon, weightDecay } = settings;
	const numbers = {
		beta1,
		beta2,
		epsilon,
		scale,
		stepSize: learningRate / (1 - beta1 ** update),
		inverseRoot: 1 / Math.sqrt(1 - beta2 ** update),
	};
	let first = 0;
	for (const { shape, decay } of specs) {
		const after = first + elementCount(shape);
		const keep = decay ? 1 - learningRate * weightDecay : 1;
		forEachPiece(Math.max(first, range.start), Math.min(after, range.end), (from, to) => {
			adamWElements(vectors, numbers, keep, from, to);
		});
		first = after;
	}
}

interface AdamWNumbers {
	readonly beta1: number;
	readonly beta2: number;
	readonly epsilon: number;
	/** Multiplies the gradient. */
	readonly scale: number;
	readonly stepSize: number;
	readonly inverseRoot: number;
}

/** @param keep multiplies the parameters, for weight decay */
function adamWElements(
	{ parameters, gradient, firstMoments, secondMoments }: UpdateVectors,
	{ beta1, beta2, epsilon, scale, stepSize, inverseRoot }: AdamWNumbers,
	keep: number,
	start: number,
	end: number,
): void {
	for (let i = start; i < end; i++) {
		const g = (gradient[i] as number) * scale;
		const m = beta1 * (firstMoments[i] as number) + (1 - beta1) * g;
		const v = beta2 * (secondMoments[i] as number) + (1 - beta2) * g * g;
		firstMoments[i] = m;
		secondMoments[i] = v;
		parameters[i] = (parameters[i] as number) * keep - (stepSize * m) / (Math.sqrt(v) * inverseRoot + epsilon);
	}
}
