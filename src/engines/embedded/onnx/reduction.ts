import { multiply } from './elementwise.ts';
import type { Value } from './graph.ts';
import { expandLike, fixed, unsqueeze } from './layout.ts';

/** Reduction operators (opset 18, where axes are an input). */

function reducedShape(x: Value, axes: readonly number[], keep: boolean) {
	return x.shape.flatMap((d, i) => (axes.includes(i) ? (keep ? [1] : []) : [d]));
}

function resolve(x: Value, axes: readonly number[] | undefined): number[] {
	return (axes ?? x.shape.map((_, i) => i)).map((a) => (a < 0 ? a + x.shape.length : a));
}

/** Restores the axes of size 1 that a reduction removed. */
function keepAxes(d: Value, axes: readonly number[], kept: boolean): Value {
	return kept ? d : unsqueeze(d, axes);
}

/** Returns the sum over `axes`, or over all axes if absent. */
export function reduceSum(x: Value, axes?: readonly number[], keep = true): Value {
	const over = resolve(x, axes);
	return x.graph.node('ReduceSum', [x, x.graph.integers(over)], reducedShape(x, over, keep), {
		attributes: { keepdims: keep ? 1 : 0 },
		backward: [(d) => expandLike(keepAxes(d, over, keep), x), null],
	});
}

/** Sum of the squares over the last axis, which is kept; not differentiable. */
export function sumOfSquares(x: Value): Value {
	return reduceLast('ReduceSumSquare', x);
}

/** Maximum over the last axis, which is kept; not differentiable. */
export function reduceMax(x: Value): Value {
	return reduceLast('ReduceMax', x);
}

function reduceLast(op: string, x: Value): Value {
	const over = resolve(x, [-1]);
	const attributes = { keepdims: 1 };
	return x.graph.node(op, [x, x.graph.integers(over)], reducedShape(x, over, true), { attributes });
}

/** Returns the mean over `axes`, whose sizes must be known. */
export function reduceMean(x: Value, axes: readonly number[], keep = true): Value {
	const over = resolve(x, axes);
	const share = 1 / over.reduce((n, a) => n * fixed(x.dim(a)), 1);
	return x.graph.node('ReduceMean', [x, x.graph.integers(over)], reducedShape(x, over, keep), {
		attributes: { keepdims: keep ? 1 : 0 },
		backward: [(d) => expandLike(keepAxes(multiply(d, share), over, keep), x), null],
	});
}
