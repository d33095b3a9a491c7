import type { Value } from './graph.ts';

/**
 * Operators of onnxruntime that do the work of several standard ones, for programs whose run time depends on the number
 * of operators. Not differentiable.
 */
const domain = 'com.microsoft';

/** Returns x + y, and its RMSNorm times `weight` over the last axis. */
export function addAndNorm(x: Value, y: Value, weight: Value, epsilon: number): { sum: Value; normed: Value } {
	const one = [...x.shape.slice(0, -1), 1];
	const [normed, , , sum] = x.graph.nodes(
		'SkipSimplifiedLayerNormalization',
		[x, y, weight],
		[x.shape, one, one, x.shape],
		{ domain, attributes: { epsilon: { float: epsilon } } },
	) as [Value, Value, Value, Value];
	return { sum, normed };
}

/** Returns x sigmoid(x). */
export function fusedSilu(x: Value): Value {
	return x.graph.node('QuickGelu', [x], x.shape, { domain, attributes: { alpha: { float: 1 } } });
}

/**
 * Computes attention from one token per row to the cached tokens.
 * @param queries [rows, 1, width], not scaled
 * @param keys [rows, heads, slots, headWidth]
 * @param values [rows, heads, slots, headWidth]
 * @param mask [rows, 1, 1, slots], added to the scaled scores
 * @returns [rows, 1, width]
 */
export function attentionOfOne(queries: Value, keys: Value, values: Value, mask: Value): Value {
	const heads = keys.dim(1);
	if (typeof heads !== 'number') throw new TypeError('The number of heads must be known');
	return queries.graph.node('MultiHeadAttention', [queries, keys, values, null, null, mask], queries.shape, {
		domain,
		attributes: { num_heads: heads },
	});
}
