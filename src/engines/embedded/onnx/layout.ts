import type { Value } from './graph.ts';
import type { Dim, Shape } from './onnxModel.ts';
import { reduceSum } from './reduction.ts';

/** Operators that rearrange elements without changing them. */

export function sameShape(a: Shape, b: Shape): boolean {
	return a.length === b.length && a.every((d, i) => d === b[i]);
}

/** Returns the product of the sizes, or a name for the product if any size is only known at run time. */
export function product(dims: Shape): Dim {
	const names = dims.filter((d) => typeof d === 'string');
	const size = dims.reduce<number>((n, d) => (typeof d === 'number' ? n * d : n), 1);
	if (names.length === 0) return size;
	return size === 1 ? names.join('*') : `${names.join('*')}*${size}`;
}

export function fixed(d: Dim): number {
	if (typeof d === 'string') throw new TypeError(`The size ${d} is not known before run time`);
	return d;
}

/** Applies NumPy's broadcasting rule to two shapes. Named sizes are equal only if the names are the same. */
export function broadcastShape(a: Shape, b: Shape): Dim[] {
	const rank = Math.max(a.length, b.length);
	return Array.from({ length: rank }, (_, i) => {
		const x = a[i - rank + a.length] ?? 1;
		const y = b[i - rank + b.length] ?? 1;
		if (x === y || y === 1) return x;
		if (x === 1) return y;
		throw new TypeError(`Shapes [${a.join()}] and [${b.join()}] are incompatible`);
	});
}

/** Reverses broadcasting in a gradient by summing over the axes along which the operand was repeated. */
export function sumTo(d: Value, shape: Shape): Value {
	const extra = d.shape.length - shape.length;
	const leading = Array.from({ length: extra }, (_, i) => i);
	const summed = leading.length > 0 ? reduceSum(d, leading, false) : d;
	const repeated = shape.flatMap((size, i) => (size === 1 && summed.shape[i] !== 1 ? [i] : []));
	return repeated.length > 0 ? reduceSum(summed, repeated, true) : summed;
}

/**
 * Reshapes x. Named sizes that x has at the same axis are copied. At most one other named size is allowed, which ONNX
 * infers.
 */
export function reshape(x: Value, shape: Shape): Value {
	if (sameShape(x.shape, shape)) return x;
	let inferred = 0;
	const target = shape.map((d, i) => {
		if (typeof d === 'number') return d;
		if (d === x.shape[i]) return 0;
		inferred++;
		return -1;
	});
	if (inferred > 1) throw new TypeError(`Cannot reshape [${x.shape.join()}] to [${shape.join()}]`);
	return x.graph.node('Reshape', [x, x.graph.integers(target)], shape, {
		backward: [(d) => reshapeLike(d, x), null],
	});
}

/** Reshapes x to the run-time shape of `like`. */
export function reshapeLike(x: Value, like: Value): Value {
	if (sameShape(x.shape, like.shape)) return x;
	if (like.shape.filter((d) => typeof d === 'string').length < 2) return reshape(x, like.shape);
	return x.graph.node('Reshape', [x, shapeOf(like)], like.shape, { backward: [(d) => reshapeLike(d, x), null] });
}

/** Merges all leading axes: [..., n] to [*, n]. */
export function asMatrix(x: Value): Value {
	return reshape(x, [product(x.shape.slice(0, -1)), x.dim(-1)]);
}

export function transpose(x: Value, permutation: readonly number[]): Value {
	const inverse = permutation.map((_, i) => permutation.indexOf(i));
	const shape = permutation.map((p) => x.dim(p));
	return x.graph.node('Transpose', [x], shape, {
		attributes: { perm: permutation },
		backward: [(d) => transpose(d, inverse)],
	});
}

/** Swaps the last two axes. */
export function transposeLast(x: Value): Value {
	const axes = x.shape.map((_, i) => i);
	const n = axes.length;
	return transpose(x, [...axes.slice(0, n - 2), n - 1, n - 2]);
}

/** Repeats x to the shape of `like`. */
export function expandLike(x: Value, like: Value): Value {
	if (sameShape(x.shape, like.shape)) return x;
	const graph = x.graph;
	const shape = like.shape.every((d) => typeof d === 'number')
		? graph.integers(like.shape as readonly number[])
		: shapeOf(like);
	return graph.node('Expand', [x, shape], like.shape, { backward: [(d) => sumTo(d, x.shape), null] });
}

/** Repeats x to a known shape. Not differentiable. */
export function expandTo(x: Value, shape: readonly number[]): Value {
	return x.graph.node('Expand', [x, x.graph.integers(shape)], shape);
}

export function zerosLike(x: Value): Value {
	return expandLike(x.graph.scalar(0), x);
}

export function concat(xs: readonly Value[], axis: number): Value {
	const [first] = xs;
	if (first === undefined) throw new TypeError('concat requires at least one tensor');
	if (xs.length === 1) return first;
	const sizes = xs.map((x) => x.dim(axis));
	const total: Dim = sizes.every((d) => typeof d === 'number')
		? sizes.reduce<number>((n, d) => n + fixed(d), 0)
		: sizes.join('+');
	const shape = first.shape.map((d, i) => (i === axis ? total : d));
	const bounds = (index: number): [number, number] => {
		const low = sizes.slice(0, index).reduce<number>((n, d) => n + fixed(d), 0);
		return [low, low + fixed(sizes[index] as Dim)];
	};
	return first.graph.node('Concat', xs, shape, {
		attributes: { axis },
		backward: xs.map((_, i) => (d: Value) => slice(d, axis, ...bounds(i))),
	});
}

/** Returns x[low:high] along an axis. */
export function slice(x: Value, axis: number, low: number, high: number): Value {
	const graph = x.graph;
	const shape = x.shape.map((d, i) => (i === axis ? high - low : d));
	const inputs = [x, graph.integers([low]), graph.integers([high]), graph.integers([axis])];
	const pad = (d: Value): Value => {
		const before = x.shape.map((_, i) => (i === axis ? low : 0));
		const after = x.shape.map((s, i) => (i === axis ? fixed(s) - high : 0));
		return graph.node('Pad', [d, graph.integers([...before, ...after])], x.shape);
	};
	return graph.node('Slice', inputs, shape, { backward: [pad, null, null, null] });
}

/** Returns the size of an axis, known only at run time: [1], int64. */
function sizeOf(x: Value, axis: number): Value {
	const { graph } = x;
	return graph.node('Slice', [shapeOf(x), graph.integers([axis]), graph.integers([axis + 1])], [1], { type: 'int64' });
}

/** Appends zero rows to x to match the number of rows in `table`. */
export function padRows(x: Value, table: Value): Value {
	const { graph } = x;
	const missing = graph.node('Sub', [graph.integers([fixed(table.dim(0))]), sizeOf(x, 0)], [1], { type: 'int64' });
	const rest = graph.integers(Array.from({ length: table.shape.length - 1 }, () => 0));
	const none = graph.integers([0, ...table.shape.slice(1).map(() => 0)]);
	const pads = graph.node('Concat', [none, missing, rest], [2 * table.shape.length], {
		attributes: { axis: 0 },
		type: 'int64',
	});
	return graph.node('Pad', [x, pads], table.shape);
}

/**
 * Returns the first n table rows, where n is the size of `like` along `axis`. The gradient is zero for all other rows.
 */
export function leadingRows(table: Value, like: Value, axis: number): Value {
	const graph = table.graph;
	const shape = [like.dim(axis), ...table.shape.slice(1)];
	const inputs = [table, graph.integers([0]), sizeOf(like, axis), graph.integers([0])];
	return graph.node('Slice', inputs, shape, { backward: [(d) => padRows(d, table), null, null, null] });
}

/**
 * Returns the part of x before index `end` (int64, [1], known only at run time) along an axis, which then has size
 * `size`. Not differentiable.
 */
export function leading(x: Value, axis: number, end: Value, size: Dim): Value {
	const { graph } = x;
	const shape = x.shape.map((d, i) => (i === axis ? size : d));
	return graph.node('Slice', [x, graph.integers([0]), end, graph.integers([axis])], shape);
}

/**
 * Returns the part of x from index `start` (int64, [1], known only at run time) along an axis, which then has size
 * `size`. The gradient before the index is zero.
 */
export function tail(x: Value, axis: number, start: Value, size: Dim): Value {
	const graph = x.graph;
	const rank = x.shape.length;
	const shape = x.shape.map((d, i) => (i === axis ? size : d));
	const pad = (d: Value): Value => {
		const zeros = (count: number): Value[] => (count > 0 ? [graph.integers(new Array(count).fill(0))] : []);
		const parts = [...zeros(axis), start, ...zeros(2 * rank - axis - 1)];
		const pads = graph.node('Concat', parts, [2 * rank], { attributes: { axis: 0 }, type: 'int64' });
		return graph.node('Pad', [d, pads], x.shape);
	};
	const inputs = [x, start, graph.integers([Number.MAX_SAFE_INTEGER]), graph.integers([axis])];
	return graph.node('Slice', inputs, shape, { backward: [pad, null, null, null] });
}

/** Appends b to a along an axis whose size can be known only at run time. */
export function append(a: Value, b: Value, axis: number): Value {
	const shape = a.shape.map((d, i) => (i === axis ? `${d}+${b.dim(axis)}` : d));
	return a.graph.node('Concat', [a, b], shape, {
		attributes: { axis },
		backward: [
			(d) => leading(d, axis, sizeOf(a, axis), a.dim(axis)),
			(d) => tail(d, axis, sizeOf(a, axis), b.dim(axis)),
		],
	});
}

/** Returns the run-time shape of x: [rank], int64. */
export function shapeOf(x: Value): Value {
	return x.graph.node('Shape', [x], [x.shape.length], { type: 'int64' });
}

/**
 * Maximum number of outputs of a Split. A shader binds each output and the input, and every WebGPU device supports 8
 * bindings (WebGPU, maxStorageBuffersPerShaderStage of the default limits).
 */
const maxOutputs = 7;

/** Splits x into equal parts along an axis. */
export function split(x: Value, parts: number, axis: number): Value[] {
	const size = fixed(x.dim(axis)) / parts;
	return splitParts(x, parts, size, axis);
}

/** Splits x into parts of the given size along an axis. Takes several steps if there are many parts. */
function splitParts(x: Value, parts: number, size: number, axis: number): Value[] {
	if (parts === 1) return [x];
	if (parts <= maxOutputs) return splitAt(x, new Array<number>(parts).fill(size), axis);
	const ends = Array.from({ length: maxOutputs + 1 }, (_, i) => Math.floor((i * parts) / maxOutputs));
	const counts = ends.slice(1).map((end, i) => end - (ends[i] as number));
	const chunks = splitAt(
		x,
		counts.map((count) => count * size),
		axis,
	);
	return chunks.flatMap((chunk, i) => splitParts(chunk, counts[i] as number, size, axis));
}

/** Splits x into parts of the given sizes along an axis. */
function splitAt(x: Value, sizes: readonly number[], axis: number): Value[] {
	const shapes = sizes.map((size) => x.shape.map((d, i) => (i === axis ? size : d)));
	const join = (...gradients: Value[]): Value => concat(gradients, axis);
	return x.graph.nodes('Split', [x, x.graph.integers(sizes)], shapes, { attributes: { axis }, backward: [join, null] });
}

/** Inserts axes of size 1 at the given positions in the result. */
export function unsqueeze(x: Value, axes: readonly number[]): Value {
	const shape: Dim[] = [...x.shape];
	for (const axis of axes) shape.splice(axis, 0, 1);
	return x.graph.node('Unsqueeze', [x, x.graph.integers(axes)], shape, { backward: [(d) => squeeze(d, axes), null] });
}

/** Removes axes of size 1. */
export function squeeze(x: Value, axes: readonly number[]): Value {
	const shape = x.shape.filter((_, i) => !axes.includes(i));
	return x.graph.node('Squeeze', [x, x.graph.integers(axes)], shape, { backward: [(d) => unsqueeze(d, axes), null] });
}
