import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import type { Dialect } from '../onnx/dialect.ts';
import { add, compare, where } from '../onnx/elementwise.ts';
import { Graph, type Value } from '../onnx/graph.ts';
import { gather } from '../onnx/indexing.ts';
import { reshape } from '../onnx/layout.ts';
import { matmul, matmulTransposed } from '../onnx/matmul.ts';
import { softmax } from '../onnx/softmax.ts';
import { masked, splitHeadsOfOne } from './attention.ts';
import { cacheName } from './programs.ts';
import { decoder, head } from './transformer.ts';
import { inputWeights } from './weights.ts';

/**
 * Programs for devices that hold their own tensors. Weights and the key-value cache stay on the device between runs.
 */

/** Returns the output name for a tensor that stays on the device: `resident NAME` becomes input NAME of a later run. */
export const residentName = (name: string): string => `resident ${name}`;

/** Copies the parameters to the device. */
export function uploadProgram(specs: readonly ParameterSpec[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const { name, shape } of specs) graph.output(residentName(name), graph.input(name, shape));
	return graph;
}

/**
 * One decode step for every row, which also writes the new cache entries to their slots. Inputs: tokens [rows, 1],
 * positions [rows, 1] (the number of cached tokens), slots [slots] (0, 1, 2, ...) and the cache [rows, heads, slots,
 * headWidth]. Outputs: logits [rows, 1, vocabulary] and the new cache. Slots after a row's position can contain any
 * finite values.
 */
export function residentDecodeProgram(shape: ModelShape, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	const weights = inputWeights(graph, shape);
	const tokens = graph.input('tokens', ['rows', 1], 'int32');
	const positions = graph.input('positions', ['rows', 1], 'int32');
	const slots = graph.input('slots', ['slots'], 'int32');
	const ofRow = reshape(positions, ['rows', 1, 1, 1]);
	const isNew = compare('Equal', reshape(slots, [1, 1, 'slots', 1]), ofRow);
	const hidden = compare('Greater', reshape(slots, [1, 1, 1, 'slots']), ofRow);
	const mask = where(hidden, graph.scalar(masked), graph.scalar(0));
	const cache = ['rows', shape.heads, 'slots', shape.width / shape.heads];
	const keep = (part: 'keys' | 'values', layer: number, entry: Value): Value => {
		const name = cacheName(part, layer);
		const kept = where(isNew, entry, graph.input(name, cache));
		graph.output(residentName(name), kept);
		return kept;
	};
	const embedded = add(gather(weights.tokens, tokens), gather(weights.positions, positions));
	const states = decoder(weights, embedded, (layer, qkv) => {
		const { queries, keys, values } = splitHeadsOfOne(shape, qkv);
		const scores = add(matmulTransposed(queries, keep('keys', layer, keys)), mask);
		const read = matmul(softmax(scores), keep('values', layer, values));
		return reshape(read, ['rows', 1, shape.width]);
	});
	graph.output('logits', head(weights, states));
	return graph;
}

/**
 * Rearranges the cache. `source` [to] contains the old row index for each new row. `pads` [8] (int64) specifies the
 * slots to append, as padding for the four axes. Inputs: the cache [from, heads, before, headWidth].
 */
export function cacheLayoutProgram(shape: ModelShape, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	const source = graph.input('source', ['to'], 'int32');
	const pads = graph.input('pads', [8], 'int64');
	const headWidth = shape.width / shape.heads;
	for (let layer = 0; layer < shape.layers; layer++) {
		for (const part of ['keys', 'values'] as const) {
			const name = cacheName(part, layer);
			const old = graph.input(name, ['from', shape.heads, 'before', headWidth]);
			const rows = graph.node('Gather', [old, source], ['to', shape.heads, 'before', headWidth], {
				attributes: { axis: 0 },
			});
			graph.output(residentName(name), graph.node('Pad', [rows, pads], ['to', shape.heads, 'slots', headWidth]));
		}
	}
	return graph;
}
