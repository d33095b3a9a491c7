import { headGroups } from '../../../core/memory/rowBytes.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import { add, multiply } from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { concat, reshape, split, transpose } from '../onnx/layout.ts';
import { matmul, matmulTransposed } from '../onnx/matmul.ts';
import type { Dim } from '../onnx/onnxModel.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { softmax } from '../onnx/softmax.ts';

/** Added to scores at masked positions. */
export const masked = -1e9;

export interface Heads {
	/** [rows, heads, tokens, headWidth], with queries scaled by 1/sqrt(headWidth) (Vaswani 2017, eq. 1). */
	readonly queries: Value;
	readonly keys: Value;
	readonly values: Value;
}

/** Splits [rows, tokens, 3 width] into heads. */
export function splitHeads(shape: ModelShape, qkv: Value): Heads {
	const headWidth = shape.width / shape.heads;
	const [q, k, v] = split(qkv, 3, 2).map((part) =>
		transpose(reshape(part, [part.dim(0), part.dim(1), shape.heads, headWidth]), [0, 2, 1, 3]),
	) as [Value, Value, Value];
	return { queries: multiply(q, 1 / Math.sqrt(headWidth)), keys: k, values: v };
}

/** Like `splitHeads`, but for a single token per row, without moving elements. */
export function splitHeadsOfOne(shape: ModelShape, qkv: Value): Heads {
	const headWidth = shape.width / shape.heads;
	const [q, k, v] = split(qkv, 3, 2).map((part) => reshape(part, [part.dim(0), shape.heads, 1, headWidth])) as [
		Value,
		Value,
		Value,
	];
	return { queries: multiply(q, 1 / Math.sqrt(headWidth)), keys: k, values: v };
}

/** Merges [rows, heads, tokens, headWidth] back into [rows, tokens, width]. */
export function mergeHeads(shape: ModelShape, x: Value): Value {
	const merged = transpose(x, [0, 2, 1, 3]);
	return reshape(merged, [merged.dim(0), merged.dim(1), shape.width]);
}

/** Computes self-attention over whole sequences. `mask` (0 or a large negative number) is added to the scores. */
export function selfAttention(shape: ModelShape, heads: Heads, mask: Value): Value {
	return mergeHeads(shape, attention(heads, mask, headGroups(shape)));
}

/**
 * Computes attention: [rows, heads, tokens, headWidth]. `mask` is added to the scores.
 * @param groups number of equal groups of heads, which are processed one after another to keep the scores small
 */
export function attention(heads: Heads, mask: Value, groups: number): Value {
	if (groups === 1) return attentionOfGroup(heads, mask);
	const [queries, keys, values] = [heads.queries, heads.keys, heads.values].map((x) => split(x, groups, 1)) as [
		Value[],
		Value[],
		Value[],
	];
	const parts = queries.map((part, i) =>
		attentionOfGroup({ queries: part, keys: keys[i] as Value, values: values[i] as Value }, mask),
	);
	return concat(parts, 1);
}

function attentionOfGroup({ queries, keys, values }: Heads, mask: Value): Value {
	return matmul(softmax(add(matmulTransposed(queries, keys), mask)), values);
}

/**
 * Computes attention from one new token per row to the cached tokens and to itself. `cachedKeys`, `cachedValues`:
 * [rows, heads, slots, headWidth]; `mask`: [rows, 1, 1, slots], added to the cache scores.
 */
export function cachedAttention(
	shape: ModelShape,
	heads: Heads,
	cachedKeys: Value,
	cachedValues: Value,
	mask: Value,
): Value {
	const { queries, keys, values } = heads;
	const cached = add(matmulTransposed(queries, cachedKeys), mask);
	const own = reduceSum(multiply(queries, keys), [3]);
	const weights = softmax(concat([cached, own], 3));
	const read = add(matmul(allButLast(weights, cachedKeys.dim(2)), cachedValues), multiply(last(weights), values));
	return reshape(read, [read.dim(0), 1, shape.width]);
}

function allButLast(x: Value, size: Dim): Value {
	const { graph } = x;
	const inputs = [x, graph.integers([0]), graph.integers([-1]), graph.integers([3])];
	return graph.node('Slice', inputs, [...x.shape.slice(0, 3), size]);
}

function last(x: Value): Value {
	const { graph } = x;
	const inputs = [x, graph.integers([-1]), graph.integers([Number.MAX_SAFE_INTEGER]), graph.integers([3])];
	return graph.node('Slice', inputs, [...x.shape.slice(0, 3), 1]);
}
