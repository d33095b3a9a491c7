import type { ModelShape } from '../../shared/modelShape.ts';
import { add, compare, where } from '../onnx/elementwise.ts';
import { attentionOfOne } from '../onnx/fused.ts';
import type { Value } from '../onnx/graph.ts';
import { gather } from '../onnx/indexing.ts';
import { reshape, split } from '../onnx/layout.ts';
import { matmul, matmulTransposed } from '../onnx/matmul.ts';
import type { Shape } from '../onnx/onnxModel.ts';
import { softmax } from '../onnx/softmax.ts';
import { masked, splitHeadsOfOne } from './attention.ts';
import { decoder, fusedLogits, head } from './transformer.ts';
import type { ModelWeights } from './weights.ts';

/** Decode steps of a program with a loop, whose cache has the same number of slots in every step. */

export const cacheShape = (shape: ModelShape): Shape => ['rows', shape.heads, 'slots', shape.width / shape.heads];

/**
 * Returns a part of the cache, updated with the entries of the newest tokens.
 * @param update adds the new entries to the old part
 */
export type KeepPart = (part: 'keys' | 'values', layer: number, update: (old: Value) => Value) => Value;

/**
 * Returns the logits [rows, 1, vocabulary] after one token per row, whose cache entries are written to the slots of
 * their positions. Slots after a row's position may contain any finite values.
 * @param inputs tokens [rows, 1], positions [rows, 1] (the number of cached tokens), and slots [slots] (0, 1, 2, ...)
 */
export function decodeStep(
	shape: ModelShape,
	weights: ModelWeights,
	inputs: Readonly<Record<'tokens' | 'positions' | 'slots', Value>>,
	keep: KeepPart,
): Value {
	const { tokens, positions, slots } = inputs;
	const { graph } = tokens;
	const ofRow = reshape(positions, ['rows', 1, 1, 1]);
	const isNew = compare('Equal', reshape(slots, [1, 1, 'slots', 1]), ofRow);
	const hidden = compare('Greater', reshape(slots, [1, 1, 1, 'slots']), ofRow);
	const mask = where(hidden, graph.scalar(masked), graph.scalar(0));
	const embedding = { token: gather(weights.tokens, tokens), position: gather(weights.positions, positions) };
	const keptPart = (part: 'keys' | 'values', layer: number, entry: Value) =>
		keep(part, layer, (old) => where(isNew, entry, old));
	if (graph.dialect.fusedDecode) {
		return fusedLogits(weights, embedding, (layer, qkv) => {
			const [queries, keys, values] = split(qkv, 3, 2) as [Value, Value, Value];
			const entry = (part: Value) => reshape(part, ['rows', shape.heads, 1, shape.width / shape.heads]);
			const cache = { keys: keptPart('keys', layer, entry(keys)), values: keptPart('values', layer, entry(values)) };
			return attentionOfOne(queries, cache.keys, cache.values, mask);
		});
	}
	const states = decoder(weights, add(embedding.token, embedding.position), (layer, qkv) => {
		const { queries, keys, values } = splitHeadsOfOne(shape, qkv);
		const kept = (part: 'keys' | 'values', entry: Value) => keptPart(part, layer, entry);
		const scores = add(matmulTransposed(queries, kept('keys', keys)), mask);
		return reshape(matmul(softmax(scores), kept('values', values)), ['rows', 1, shape.width]);
	});
	return head(weights, states);
}

/** Returns positions + steps, at most `ends`: rows that have ended stay at their last position. */
export function laterPositions(positions: Value, steps: Value, ends: Value): Value {
	const later = add(positions, steps);
	return where(compare('Less', later, ends), later, ends);
}
