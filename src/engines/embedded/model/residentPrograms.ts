import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import { type Dialect, decodeDialect } from '../onnx/dialect.ts';
import { add, cast, compare, log, multiply, negate, where } from '../onnx/elementwise.ts';
import { attentionOfOne } from '../onnx/fused.ts';
import { Graph, type Value } from '../onnx/graph.ts';
import { gather, take } from '../onnx/indexing.ts';
import { concat, fixed, reshape, split } from '../onnx/layout.ts';
import { linear, matmul, matmulTransposed } from '../onnx/matmul.ts';
import type { Shape } from '../onnx/onnxModel.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { softmax } from '../onnx/softmax.ts';
import { masked, splitHeadsOfOne } from './attention.ts';
import { cacheName } from './programs.ts';
import { residentName } from './residentName.ts';
import { decoder, fusedLogits, head } from './transformer.ts';
import { inputWeights, type ModelWeights } from './weights.ts';

/**
 * Programs for devices that keep their tensors. Weights and the key-value cache stay on the device between runs.
 */

/** Copies the parameters to the device. */
export function uploadProgram(specs: readonly ParameterSpec[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const { name, shape } of specs) graph.output(residentName(name), graph.input(name, shape));
	return graph;
}

/** What chooses the next token from the logits: the host, or the device (at random or greedily). */
export type Choice = 'host' | 'random' | 'greedy';

/** Outputs for the chosen tokens, each [rows, 1] and resident. */
export const chosenOutputs = ['tokens', 'logprobs', 'entropies'] as const;

/**
 * One decode step for every row, which also writes the new cache entries to their slots. Inputs: tokens [rows, 1],
 * positions [rows, 1] (the number of cached tokens), slots [slots] (0, 1, 2, ...) and the cache [rows, heads, slots,
 * headWidth]. Outputs: the new cache, and logits [rows, 1, vocabulary] if the host chooses tokens. Slots after a row's
 * position can contain any finite values.
 *
 * If the device chooses, the other inputs are those of `outputChosen` and ends [rows, 1], the maximum position of each
 * row. The other outputs are `chosenOutputs` and the next positions. With them, the next step needs nothing from the
 * host but noise.
 */
export function residentDecodeProgram(shape: ModelShape, dialect: Dialect, choice: Choice = 'host'): Graph {
	const graph = new Graph('float32', decodeDialect(dialect));
	const weights = inputWeights(graph, shape);
	const tokens = graph.input('tokens', ['rows', 1], 'int32');
	const positions = graph.input('positions', ['rows', 1], 'int32');
	const slots = graph.input('slots', ['slots'], 'int32');
	const cache = cacheShape(shape);
	const logits = decodeStep(shape, weights, { tokens, positions, slots }, (part, layer, update) => {
		const name = cacheName(part, layer);
		const kept = update(graph.input(name, cache));
		graph.output(residentName(name), kept);
		return kept;
	});
	if (choice === 'host') {
		graph.output('logits', logits);
		return graph;
	}
	outputChosen(reshape(logits, ['rows', shape.vocabulary]), choice);
	graph.output(residentName('positions'), nextPositions(positions, graph.input('ends', ['rows', 1], 'int32')));
	return graph;
}

export const cacheShape = (shape: ModelShape): Shape => ['rows', shape.heads, 'slots', shape.width / shape.heads];

/**
 * Returns a part of the cache, updated with the entries of the newest tokens.
 * @param update adds the new entries to the old part
 */
export type KeepPart = (part: 'keys' | 'values', layer: number, update: (old: Value) => Value) => Value;

/**
 * Returns the logits [rows, 1, vocabulary] after one token per row, whose cache entries are written to the slots of their
 * positions.
 */
export function decodeStep(
	shape: ModelShape,
	weights: ModelWeights,
	{ tokens, positions, slots }: Readonly<Record<'tokens' | 'positions' | 'slots', Value>>,
	keep: KeepPart,
): Value {
	const { graph } = tokens;
	const ofRow = reshape(positions, ['rows', 1, 1, 1]);
	const isNew = compare('Equal', reshape(slots, [1, 1, 'slots', 1]), ofRow);
	const hidden = compare('Greater', reshape(slots, [1, 1, 1, 'slots']), ofRow);
	const mask = where(hidden, graph.scalar(masked), graph.scalar(0));
	const embedded = add(gather(weights.tokens, tokens), gather(weights.positions, positions));
	const keptPart = (part: 'keys' | 'values', layer: number, entry: Value) =>
		keep(part, layer, (old) => where(isNew, entry, old));
	if (graph.dialect.fusedDecode) {
		return fusedLogits(weights, embedded, (layer, qkv) => {
			const [queries, keys, values] = split(qkv, 3, 2) as [Value, Value, Value];
			const entry = (part: Value) => reshape(part, ['rows', shape.heads, 1, shape.width / shape.heads]);
			const cache = { keys: keptPart('keys', layer, entry(keys)), values: keptPart('values', layer, entry(values)) };
			return attentionOfOne(queries, cache.keys, cache.values, mask);
		});
	}
	const states = decoder(weights, embedded, (layer, qkv) => {
		const { queries, keys, values } = splitHeadsOfOne(shape, qkv);
		const kept = (part: 'keys' | 'values', entry: Value) => keptPart(part, layer, entry);
		const scores = add(matmulTransposed(queries, kept('keys', keys)), mask);
		return reshape(matmul(softmax(scores), kept('values', values)), ['rows', 1, shape.width]);
	});
	return head(weights, states);
}

/** Returns the positions of the next tokens. Rows that have ended stay at their last position. */
export function nextPositions(positions: Value, ends: Value): Value {
	const next = add(positions, positions.graph.constant('int32', [], [1]));
	return where(compare('Less', next, ends), next, ends);
}

/**
 * Chooses the first token of each row. Inputs: logits [prompts, vocabulary], source [rows] (the prompt of each row), and
 * those of `outputChosen`.
 */
export function firstTokenProgram(shape: ModelShape, dialect: Dialect, choice: Exclude<Choice, 'host'>): Graph {
	const graph = new Graph('float32', dialect);
	const logits = graph.input('logits', ['prompts', shape.vocabulary]);
	outputChosen(take(logits, graph.input('source', ['rows'], 'int32')), choice);
	return graph;
}

/** Inputs, besides weights, cache and noise, for decode steps in which the device chooses tokens. */
export const heldInputs = ['tokens', 'positions', 'ends', 'slots', 'inverse temperature'] as const;

/** Copies `heldInputs` to the device, so that the steps until the next rearrangement upload nothing but noise. */
export function holdProgram(dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const name of ['tokens', 'positions', 'ends']) {
		graph.output(residentName(name), graph.input(name, ['rows', 1], 'int32'));
	}
	graph.output(residentName('slots'), graph.input('slots', ['slots'], 'int32'));
	graph.output(residentName('inverse temperature'), graph.input('inverse temperature', []));
	return graph;
}

/** Large enough that only the most likely token has a nonzero probability, and small enough that logits remain finite. */
const sharpness = 1e30;

/**
 * Chooses a token for each row from logits [rows, vocabulary]: the first one whose cumulative probability exceeds the
 * input noise [rows, 1], which is uniform in [0, 1). Log-probabilities and entropies are those of the distribution at
 * the input inverse temperature [].
 */
function outputChosen(logits: Value, choice: Exclude<Choice, 'host'>): void {
	const { graph } = logits;
	const noise = graph.input('noise', ['rows', 1]);
	const chosen = chooseTokens(logits, noise, graph.input('inverse temperature', []), choice);
	for (const name of chosenOutputs) graph.output(residentName(name), chosen[name]);
}

/** Returns the choice that `outputChosen` describes. */
export function chooseTokens(
	logits: Value,
	noise: Value,
	inverseTemperature: Value,
	choice: Exclude<Choice, 'host'>,
): Readonly<Record<(typeof chosenOutputs)[number], Value>> {
	const { graph } = logits;
	const vocabulary = fixed(logits.dim(1));
	const probabilities = softmax(multiply(logits, inverseTemperature));
	// Adding the smallest normal number keeps the logarithm of 0 finite.
	const logprobs = log(add(probabilities, 2 ** -126));
	const weights = choice === 'greedy' ? softmax(multiply(logits, sharpness)) : probabilities;
	// Omits the last token, which is chosen if no other is, regardless of rounding in the sums.
	const before = Float32Array.from({ length: vocabulary * (vocabulary - 1) }, (_, i) =>
		Math.floor(i / (vocabulary - 1)) <= i % (vocabulary - 1) ? 1 : 0,
	);
	const cumulative = linear(weights, graph.constant('float32', [vocabulary, vocabulary - 1], before));
	const passed = reduceSum(cast(compare('LessOrEqual', cumulative, noise), 'float32'), [1]);
	const tokens = cast(passed, 'int32');
	const picked = graph.node('GatherElements', [logprobs, tokens], ['rows', 1], { attributes: { axis: 1 } });
	const entropies = negate(reduceSum(multiply(probabilities, logprobs), [1]));
	return { tokens, logprobs: picked, entropies };
}

export const stepName = (name: (typeof chosenOutputs)[number], step: number): string => `${name} of step ${step}`;

/** Concatenates the choices from several steps: each of `chosenOutputs` as [rows, steps]. */
export function collectProgram(steps: number, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const name of chosenOutputs) {
		const type = name === 'tokens' ? 'int32' : 'float32';
		const parts = Array.from({ length: steps }, (_, step) => graph.input(stepName(name, step), ['rows', 1], type));
		graph.output(name, concat(parts, 1));
	}
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
