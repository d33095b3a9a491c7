import type { Value } from './graph.ts';
import { reshape } from './layout.ts';
import { linear } from './matmul.ts';
import type { Dim } from './onnxModel.ts';

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

/** Returns y sigmoid(y) for y = x weight: [..., m] and [m, n] to [..., n]. */
export function linearSilu(x: Value, weight: Value): Value {
	if (x.graph.dialect.fusedActivations) return activatedLinear(x, weight, null, 'QuickGelu', [1]);
	const y = linear(x, weight);
	return y.graph.node('QuickGelu', [y], y.shape, { domain, attributes: { alpha: { float: 1 } } });
}

/**
 * Returns an activation of x weight + bias: [..., m], [m, n] and a bias for each row of x to [..., n].
 *
 * The runtime's matrix products have no activations, but its convolutions do, and one whose kernels have size 1 is a
 * matrix product: the weight is an image of m channels and n pixels, and each row of x is a kernel.
 */
export function activatedLinear(
	x: Value,
	weight: Value,
	bias: Value | null,
	activation: 'QuickGelu' | 'HardSigmoid',
	parameters: readonly number[],
): Value {
	const [m, n] = weight.shape as [Dim, Dim];
	const rows = x.dim(0);
	const kernels = reshape(x, [rows, m, 1]);
	const inputs = [reshape(weight, [1, m, n]), kernels, ...(bias === null ? [] : [reshape(bias, [rows])])];
	const result = x.graph.node('FusedConv', inputs, [1, rows, n], {
		domain,
		attributes: { activation, activation_params: { floats: parameters }, kernel_shape: [1] },
	});
	return reshape(result, [...x.shape.slice(0, -1), n]);
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
	return queries.graph.node('MultiHeadAttention', [queries, keys, values, null, null, mask], queries.shape, {
		domain,
		attributes: { num_heads: headsOf(keys) },
	});
}

export interface CacheParts {
	/** [rows, heads, slots, headWidth] */
	readonly keys: Value;
	/** [rows, heads, slots, headWidth] */
	readonly values: Value;
}

/**
 * Appends one token per row to the cache, and computes attention from it to all cached tokens, including itself.
 * @param qkv queries (not scaled), keys and values of the token, each [rows, 1, width]
 * @param mask [rows, 1, 1, slots + 1], added to the scaled scores
 * @returns the attention output, [rows, 1, width], and the cache with one more slot
 */
export function appendAndAttend(
	[queries, keys, values]: readonly [Value, Value, Value],
	cache: CacheParts,
	mask: Value,
): CacheParts & { readonly read: Value } {
	const size = cache.keys.shape.with(2, mask.dim(3));
	const [read, allKeys, allValues] = queries.graph.nodes(
		'MultiHeadAttention',
		[queries, keys, values, null, null, mask, cache.keys, cache.values],
		[queries.shape, size, size],
		{ domain, attributes: { num_heads: headsOf(cache.keys) } },
	) as [Value, Value, Value];
	return { read, keys: allKeys, values: allValues };
}

function headsOf(keys: Value): number {
	const heads = keys.dim(1);
	if (typeof heads !== 'number') throw new TypeError('The number of heads must be known');
	return heads;
}
