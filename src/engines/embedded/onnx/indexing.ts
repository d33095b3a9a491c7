import { cast, compare } from './elementwise.ts';
import type { Value } from './graph.ts';
import { asMatrix, fixed, product, reshape } from './layout.ts';
import { transposedProduct } from './matmul.ts';

/** Indexing operators. */

/**
 * Returns 1 where the last axis equals the index, and 0 elsewhere: [...] to [..., depth]. Uses Equal and Cast, because
 * OneHot has no f64 kernel.
 */
export function oneHot(index: Value, depth: number): Value {
	const graph = index.graph;
	const steps = graph.constant(
		index.type,
		[depth],
		Array.from({ length: depth }, (_, i) => i),
	);
	const column = graph.node('Unsqueeze', [index, graph.integers([-1])], [...index.shape, 1]);
	return cast(compare('Equal', column, steps), graph.floatType);
}

/** Selects elements of x by index along its first axis: [n, ...] and [...] to [..., ...]. Not differentiable. */
export function take(x: Value, index: Value): Value {
	return x.graph.node('Gather', [x, index], [...index.shape, ...x.shape.slice(1)], { attributes: { axis: 0 } });
}

/** Selects table rows by index: [n, ...] and [...] to [..., ...]. The gradient is a product with the one-hot matrix. */
export function gather(table: Value, index: Value): Value {
	const depth = fixed(table.dim(0));
	return table.graph.node('Gather', [table, index], [...index.shape, ...table.shape.slice(1)], {
		attributes: { axis: 0 },
		backward: [
			(d) => {
				const flat = reshape(index, [product(index.shape)]);
				return transposedProduct(oneHot(flat, depth), asMatrix(d));
			},
			null,
		],
	});
}
