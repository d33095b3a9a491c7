import type { Value } from './graph.ts';
import { asMatrix, broadcastShape, reshapeLike, sumTo, transposeLast } from './layout.ts';

/** Matrix multiplication. */

/** Returns op(a) op(b) for two matrices, where op optionally transposes. Not differentiable; used by gradients. */
function gemm(a: Value, b: Value, transposeA: boolean, transposeB: boolean): Value {
	const shape = [a.dim(transposeA ? 1 : 0), b.dim(transposeB ? 0 : 1)];
	return a.graph.node('Gemm', [a, b], shape, {
		attributes: { transA: transposeA ? 1 : 0, transB: transposeB ? 1 : 0 },
	});
}

/** Returns aᵀ b for two matrices. Not differentiable. */
export function transposedProduct(a: Value, b: Value): Value {
	return gemm(a, b, true, false);
}

/** Multiplies [..., m, k] by [k, n], using the same matrix for all batch elements. */
export function linear(x: Value, weight: Value): Value {
	if (x.dim(-1) !== weight.dim(0))
		throw new TypeError(`Cannot multiply [${x.shape.join()}] by [${weight.shape.join()}]`);
	return x.graph.node('MatMul', [x, weight], [...x.shape.slice(0, -1), weight.dim(1)], {
		backward: [
			(d) => reshapeLike(gemm(asMatrix(d), weight, false, true), x),
			(d) => transposedProduct(asMatrix(x), asMatrix(d)),
		],
	});
}

/** Multiplies [..., m, k] by [..., k, n], broadcasting batch axes. */
export function matmul(a: Value, b: Value): Value {
	const batch = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
	return a.graph.node('MatMul', [a, b], [...batch, a.dim(-2), b.dim(-1)], {
		backward: [(d) => sumTo(matmulTransposed(d, b), a.shape), (d) => sumTo(matmul(transposeLast(a), d), b.shape)],
	});
}

/** Multiplies [..., m, k] by [..., n, k] with its last two axes swapped. The runtime fuses the swap. */
export function matmulTransposed(a: Value, b: Value): Value {
	const graph = a.graph;
	const batch = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
	const exchanged = graph.untracked(() => transposeLast(b));
	const multiplyBoth = () => graph.node('MatMul', [a, exchanged], [...batch, a.dim(-2), b.dim(-2)]);
	return graph.composite([a, b], multiplyBoth, [
		(d) => sumTo(matmul(d, b), a.shape),
		(d) => sumTo(matmul(transposeLast(d), a), b.shape),
	]);
}
