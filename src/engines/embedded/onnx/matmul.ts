import type { Value } from './graph.ts';
import { asMatrix, broadcastShape, reshapeLike, sumTo, transposeLast } from './layout.ts';

/** Matrix products. */

/** op(a) op(b) for two matrices, where op optionally transposes. Not differentiable; used by gradients. */
function gemm(a: Value, b: Value, transposeA: boolean, transposeB: boolean): Value {
	const shape = [a.dim(transposeA ? 1 : 0), b.dim(transposeB ? 0 : 1)];
	return a.graph.node('Gemm', [a, b], shape, {
		attributes: { transA: transposeA ? 1 : 0, transB: transposeB ? 1 : 0 },
	});
}

/** aᵀ b of two matrices; not differentiable. */
export function transposedProduct(a: Value, b: Value): Value {
	return gemm(a, b, true, false);
}

/** [..., m, k] x [k, n]: one matrix serves every row. */
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

/** [..., m, k] x [..., k, n]; batch axes broadcast. */
export function matmul(a: Value, b: Value): Value {
	const batch = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
	return a.graph.node('MatMul', [a, b], [...batch, a.dim(-2), b.dim(-1)], {
		backward: [(d) => sumTo(matmulTransposed(d, b), a.shape), (d) => sumTo(matmul(transposeLast(a), d), b.shape)],
	});
}

/** [..., m, k] x [..., n, k]: a times b with its last two axes swapped (the runtime fuses the swap). */
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
