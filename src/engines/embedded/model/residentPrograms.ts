import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import { type Dialect, decodeDialect } from '../onnx/dialect.ts';
import { compare, multiply, where } from '../onnx/elementwise.ts';
import { appendAndAttend } from '../onnx/fused.ts';
import { Graph, type Value } from '../onnx/graph.ts';
import { gather, take } from '../onnx/indexing.ts';
import { concat, reshape, split } from '../onnx/layout.ts';
import type { Shape } from '../onnx/onnxModel.ts';
import { laterPositions } from './decodeStep.ts';
import { cacheName } from './programs.ts';
import { residentName } from './residentName.ts';
import { chooseTokens, chosenOutputs, type DeviceChoice, scoresOf } from './tokenChoice.ts';
import { fusedLogits } from './transformer.ts';
import { inputWeights } from './weights.ts';

/**
 * Programs for devices that keep their tensors. Weights and the key-value cache stay on the device between runs.
 *
 * The cache grows by one slot in every step, the same one for all rows. A row whose prompt is shorter than the longest
 * one has slots without tokens after its prompt, which the mask hides.
 */

/** Copies the parameters to the device. */
export function uploadProgram(specs: readonly ParameterSpec[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const { name, shape } of specs) graph.output(residentName(name), graph.input(name, shape));
	return graph;
}

/** Results of the programs that choose tokens, which stay on the device. */
export const choiceOutputs = ['tokens', 'probabilities'] as const;

function outputChoice(logits: Value, choice: DeviceChoice): void {
	const chosen = chooseTokens(logits, logits.graph.input('noise', ['rows', 1]), choice);
	for (const name of choiceOutputs) logits.graph.output(residentName(name), chosen[name]);
}

/**
 * One decode step for every row. Inputs: tokens [rows, 1], the cache [rows, heads, before, headWidth], mask [rows, 1, 1,
 * room] (added to the scores), and after [1] (int64), the new number of slots. Outputs: the cache with one more slot
 * (`after`), and logits [rows, 1, vocabulary] or, if the device chooses tokens, `choiceOutputs`.
 *
 * If the host chooses, there is one more input: positions [rows, 1]. If the device chooses, there are three: position
 * embeddings [rows, 1, width], scaled norm [width] (the weight of the last norm, divided by the temperature), and noise
 * [rows, 1]. With them, the next step needs nothing from the host but noise.
 */
export function residentDecodeProgram(shape: ModelShape, dialect: Dialect, choice: DeviceChoice | 'host'): Graph {
	const graph = new Graph('float32', decodeDialect(dialect));
	const weights = inputWeights(graph, shape);
	const token = gather(weights.tokens, graph.input('tokens', ['rows', 1], 'int32'));
	const mask = firstSlots(graph.input('mask', ['rows', 1, 1, 'room']), graph.input('after', [1], 'int64'));
	const size = cacheSize(shape, 'before');
	const position =
		choice === 'host'
			? gather(weights.positions, graph.input('positions', ['rows', 1], 'int32'))
			: graph.input('position embeddings', ['rows', 1, shape.width]);
	const logits = fusedLogits(
		weights,
		{ token, position },
		(layer, qkv) => {
			const [keys, values] = [cacheName('keys', layer), cacheName('values', layer)];
			const cache = { keys: graph.input(keys, size), values: graph.input(values, size) };
			const result = appendAndAttend(split(qkv, 3, 2) as [Value, Value, Value], cache, mask);
			graph.output(residentName(keys), result.keys);
			graph.output(residentName(values), result.values);
			return result.read;
		},
		choice === 'host' ? weights.norm : graph.input('scaled norm', [shape.width]),
	);
	if (choice === 'host') graph.output('logits', logits);
	else outputChoice(reshape(logits, ['rows', shape.vocabulary]), choice);
	return graph;
}

const cacheSize = (shape: ModelShape, slots: string, rows = 'rows'): Shape => [
	rows,
	shape.heads,
	slots,
	shape.width / shape.heads,
];

function firstSlots(mask: Value, count: Value): Value {
	const { graph } = mask;
	const inputs = [mask, graph.integers([0]), count, graph.integers([3])];
	return graph.node('Slice', inputs, ['rows', 1, 1, 'after']);
}

/**
 * Chooses the first token of each row. Inputs: logits [prompts, vocabulary], source [rows] (the prompt of each row),
 * inverse temperature [], and noise [rows, 1]. Outputs: `choiceOutputs`.
 */
export function firstTokenProgram(shape: ModelShape, dialect: Dialect, choice: DeviceChoice): Graph {
	const graph = new Graph('float32', dialect);
	const logits = take(graph.input('logits', ['prompts', shape.vocabulary]), graph.input('source', ['rows'], 'int32'));
	outputChoice(multiply(logits, graph.input('inverse temperature', [])), choice);
	return graph;
}

/** Tensors that stay on the device until the next rearrangement. */
export const heldOutputs = ['tokens', 'positions', 'ends', 'scaled norm'] as const;

/** Copies to the device whatever does not change until the next rearrangement. Inputs: see `heldOutputs`. */
export function holdProgram(shape: ModelShape, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const name of ['tokens', 'positions', 'ends'] as const) {
		graph.output(residentName(name), graph.input(name, ['rows', 1], 'int32'));
	}
	const norm = graph.input('norm', [shape.width]);
	graph.output(residentName('scaled norm'), multiply(norm, graph.input('inverse temperature', [])));
	return graph;
}

export const positionName = (step: number): string => `position embeddings of step ${step}`;

/**
 * Returns the position embeddings of the next steps, [rows, 1, width] each. Inputs: positions [rows, 1], taken [] (the
 * number of steps since those positions), ends [rows, 1] (the maximum position of each row), and the table of embeddings.
 */
export function positionProgram(shape: ModelShape, steps: number, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	const positions = graph.input('positions', ['rows', 1], 'int32');
	const ends = graph.input('ends', ['rows', 1], 'int32');
	const table = graph.input('embedding.positions', [shape.context, shape.width]);
	const numbers = graph.constant(
		'int32',
		[1, steps],
		Array.from({ length: steps }, (_, step) => step),
	);
	const offsets = graph.node('Add', [numbers, graph.input('taken', [], 'int32')], [1, steps]);
	const embeddings = gather(table, laterPositions(positions, offsets, ends));
	const parts = steps === 1 ? [embeddings] : split(embeddings, steps, 1);
	for (const [step, part] of parts.entries()) graph.output(residentName(positionName(step)), part);
	return graph;
}

export const stepName = (name: (typeof choiceOutputs)[number], step: number): string => `${name} of step ${step}`;

/** Returns `chosenOutputs` for the choices of several steps, [rows, steps] each. Inputs: `choiceOutputs` of each step. */
export function collectProgram(shape: ModelShape, steps: number, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	const all = Array.from({ length: steps }, (_, step) => ({
		tokens: graph.input(stepName('tokens', step), ['rows', 1], 'int32'),
		probabilities: reshape(graph.input(stepName('probabilities', step), ['rows', shape.vocabulary]), [
			'rows',
			1,
			shape.vocabulary,
		]),
	}));
	const tokens = concat(
		all.map((step) => step.tokens),
		1,
	);
	const probabilities = concat(
		all.map((step) => step.probabilities),
		1,
	);
	const values = { tokens, ...scoresOf({ tokens, probabilities }) };
	for (const name of chosenOutputs) graph.output(name, values[name]);
	return graph;
}

/**
 * Rearranges the rows of the cache, and computes their mask. Inputs: the cache [from, heads, slots, headWidth], source
 * [to] (the old index of each new row), lengths [to, 1] (number of tokens in the prompt of each new row), numbers [room]
 * (0, 1, 2, ...), and gap [room] (the number added to the scores of a slot that no prompt fills: a large negative
 * number for slots of prompts, 0 for later ones). Outputs: the cache, and mask [to, 1, 1, room].
 */
export function cacheLayoutProgram(shape: ModelShape, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	const source = graph.input('source', ['to'], 'int32');
	for (let layer = 0; layer < shape.layers; layer++) {
		for (const part of ['keys', 'values'] as const) {
			const name = cacheName(part, layer);
			const old = graph.input(name, cacheSize(shape, 'slots', 'from'));
			const rows = graph.node('Gather', [old, source], cacheSize(shape, 'slots', 'to'), { attributes: { axis: 0 } });
			graph.output(residentName(name), rows);
		}
	}
	const lengths = reshape(graph.input('lengths', ['to', 1], 'int32'), ['to', 1, 1, 1]);
	const numbers = reshape(graph.input('numbers', ['room'], 'int32'), [1, 1, 1, 'room']);
	const gap = reshape(graph.input('gap', ['room']), [1, 1, 1, 'room']);
	graph.output(residentName('mask'), where(compare('Less', numbers, lengths), graph.scalar(0), gap));
	return graph;
}
