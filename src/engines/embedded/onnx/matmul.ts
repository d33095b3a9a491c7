import type { Value } from './graph.ts';
import { asMatrix, broadcastShape, reshapeLike, sumTo, transposeLast } from './layout.ts';
import type { HalfType, Shape } from './onnxModel.ts';

/** Matrix multiplication. */

type Attributes = Readonly<Record<string, number>>;

/**
 * Returns a product in the type of its operands, which are first rounded to `type` if it is not null. The device sums
 * in float32, then rounds the sums to `type`. Not differentiable.
 */
function product(
	op: 'MatMul' | 'Gemm',
	[a, b]: readonly [Value, Value],
	shape: Shape,
	type: HalfType | null,
	attributes: Attributes = {},
): Value {
	const { graph } = a;
	if (type === null) return graph.node(op, [a, b], shape, { attributes });
	const rounded = [a, b].map((x) => graph.converted(x, type));
	return graph.converted(graph.node(op, rounded, shape, { attributes }), a.type);
}

/** Returns op(a) op(b) for two matrices, where op optionally transposes. Not differentiable; used by gradients. */
function gemm(a: Value, b: Value, transposeA: boolean, transposeB: boolean, type: HalfType | null = null): Value {
	const shape = [a.dim(transposeA ? 1 : 0), b.dim(transposeB ? 0 : 1)];
	return product('Gemm', [a, b], shape, type, { transA: transposeA ? 1 : 0, transB: transposeB ? 1 : 0 });
}

/** Returns aᵀ b for two matrices. Not differentiable. */
export function transposedProduct(a: Value, b: Value): Value {
	return gemm(a, b, true, false);
}

/** Multiplies [..., m, k] by [k, n], using the same matrix for all batch elements. */
export function linear(x: Value, weight: Value): Value {
	return roundedLinear(x, weight, null, null);
}

/** Like `linear`, for the weights of a layer: operands are rounded to the dialect's types. */
export function layerLinear(x: Value, weight: Value): Value {
	const { products, gradientProducts } = x.graph.dialect;
	return roundedLinear(x, weight, products, gradientProducts);
}

function roundedLinear(x: Value, weight: Value, forward: HalfType | null, backward: HalfType | null): Value {
	if (x.dim(-1) !== weight.dim(0))
		throw new TypeError(`Cannot multiply [${x.shape.join()}] by [${weight.shape.join()}]`);
	const shape = [...x.shape.slice(0, -1), weight.dim(1)];
	return x.graph.composite([x, weight], () => product('MatMul', [x, weight], shape, forward), [
		(d) => reshapeLike(gemm(asMatrix(d), weight, false, true, backward), x),
		(d) => gemm(asMatrix(x), asMatrix(d), true, false, backward),
	]);
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
