import type { ModelShape } from '../../shared/modelShape.ts';
import { type Dialect, decodeDialect } from '../onnx/dialect.ts';
import { cast, compare, multiply } from '../onnx/elementwise.ts';
import { Graph, Value } from '../onnx/graph.ts';
import { take } from '../onnx/indexing.ts';
import { reshape } from '../onnx/layout.ts';
import type { ElementType, Shape } from '../onnx/onnxModel.ts';
import { cacheShape, decodeStep, type KeepPart, laterPositions } from './decodeStep.ts';
import { cacheName, prefill } from './programs.ts';
import { chooseTokens, chosenOutputs, type DeviceChoice, scoresOf } from './tokenChoice.ts';
import { bindWeights, inputWeights } from './weights.ts';

type ChosenOutput = (typeof chosenOutputs)[number];
export const firstName = (output: ChosenOutput): string => `first ${output}`;
export const laterName = (output: ChosenOutput): string => `later ${output}`;

/**
 * Samples whole completions in one run, with a loop in the program, so that the cache stays on the device even if
 * tensors cannot stay there between runs.
 *
 * Inputs: the weights, those of the prefill program (tokens and mask of the prompts, last), source [rows] (the prompt of
 * each row), pads [8] (int64; slots to append to the prompts' cache, for the four axes), slots [slots] (0, 1, 2, ...),
 * positions [rows, 1] of the first chosen tokens, ends [rows, 1] (the maximum position of each row), noise [steps + 1,
 * rows, 1], inverse temperature [], stop [stops] (tokens that end a row), and the scalar steps (int64), the maximum number
 * of tokens after the first.
 *
 * Outputs: each of `chosenOutputs` for the first tokens, [rows, 1], and for the others, [steps taken, rows, 1]. The loop
 * ends early when every row has chosen a stop token. Tokens of rows that have ended are meaningless.
 */
export function loopProgram(shape: ModelShape, dialect: Dialect, choice: DeviceChoice): Graph {
	const graph = new Graph('float32', dialect);
	const weights = inputWeights(graph, shape);
	const source = graph.input('source', ['rows'], 'int32');
	const pads = graph.input('pads', [8], 'int64');
	const slots = graph.input('slots', ['slots'], 'int32');
	const positions = graph.input('positions', ['rows', 1], 'int32');
	const ends = graph.input('ends', ['rows', 1], 'int32');
	const noise = graph.input('noise', ['draws', 'rows', 1]);
	const inverse = graph.input('inverse temperature', []);
	const stop = reshape(graph.input('stop', ['stops'], 'int32'), [1, 'stops']);
	const steps = graph.input('steps', [], 'int64');
	const headWidth = shape.width / shape.heads;

	const caches: Value[] = [];
	const logits = prefill(graph, shape, weights, (_, ...parts) => {
		for (const part of parts) {
			const rows = graph.node('Gather', [part, source], ['rows', shape.heads, 'tokens', headWidth], {
				attributes: { axis: 0 },
			});
			caches.push(graph.node('Pad', [rows, pads], cacheShape(shape)));
		}
	});
	const first = chosen(take(logits, source), inverse, drawn(noise, graph.constant('int64', [], [0])), choice);
	for (const name of chosenOutputs) graph.output(firstName(name), first[name]);
	const ended = (tokens: Value) => isOneOf(tokens, new Value(tokens.graph, stop.name, stop.shape, stop.type));
	const finished = ended(first.tokens);

	const body = new Graph('float32', decodeDialect(dialect), 'step ');
	const outer = ({ name, shape, type }: Value) => new Value(body, name, shape, type);
	const number = body.input('step number', [], 'int64');
	body.input('step running', [], 'bool');
	const state = (name: string, size: Shape, type: ElementType) => body.input(`step ${name}`, size, type);
	const now = {
		tokens: state('tokens', ['rows', 1], 'int32'),
		positions: state('positions', ['rows', 1], 'int32'),
		finished: state('finished', ['rows', 1], 'int32'),
	};
	const kept: Value[] = [];
	const keep: KeepPart = (part, layer, update) => {
		const value = update(state(cacheName(part, layer), cacheShape(shape), 'float32'));
		kept.push(value);
		return value;
	};
	const own = bindWeights(shape, (spec) => new Value(body, spec.name, spec.shape, 'float32'));
	const next = decodeStep(shape, own, { ...now, slots: outer(slots) }, keep);
	const following = body.node('Add', [number, body.constant('int64', [], [1])], []);
	const nextDraw = drawn(outer(noise), following);
	const later = chosen(reshape(next, ['rows', shape.vocabulary]), outer(inverse), nextDraw, choice);
	const all = either(now.finished, ended(later.tokens));
	// The runtime identifies outputs by their order.
	body.outputUnnamed(unfinished(all));
	body.output('next tokens', later.tokens);
	body.outputUnnamed(laterPositions(now.positions, body.constant('int32', [], [1]), outer(ends)));
	body.outputUnnamed(all);
	for (const value of kept) body.outputUnnamed(value);
	for (const name of chosenOutputs) body.outputUnnamed(later[name]);

	const states = [first.tokens, positions, finished, ...caches];
	const shapes = [...states.map((value) => value.shape), ...chosenOutputs.map((): Shape => ['steps', 'rows', 1])];
	const attributes = { body: { graph: body.model() } };
	const results = graph.nodes('Loop', [steps, unfinished(finished), ...states], shapes, { attributes });
	for (const [i, name] of chosenOutputs.entries()) {
		const { name: result, shape: size } = results[states.length + i] as Value;
		graph.output(laterName(name), new Value(graph, result, size, name === 'tokens' ? 'int32' : 'float32'));
	}
	return graph;
}

/** Returns `chosenOutputs` for logits [rows, vocabulary]. */
function chosen(logits: Value, inverseTemperature: Value, noise: Value, choice: DeviceChoice) {
	const chosen = chooseTokens(multiply(logits, inverseTemperature), noise, choice);
	return { tokens: chosen.tokens, ...scoresOf(chosen) };
}

/** Returns the random numbers [rows, 1] of a step. */
function drawn(noise: Value, step: Value): Value {
	const { graph } = step;
	return graph.node('Gather', [noise, step], ['rows', 1], { type: 'float32', attributes: { axis: 0 } });
}

/** Returns 1 for tokens [rows, 1] that are one of `stop` [1, stops], and 0 for others: int32 [rows, 1]. */
function isOneOf(tokens: Value, stop: Value): Value {
	const { graph } = tokens;
	const equal = cast(compare('Equal', tokens, stop), 'float32');
	const count = graph.node('ReduceSum', [equal, graph.integers([1])], ['rows', 1], { attributes: { keepdims: 1 } });
	return cast(count, 'int32');
}

/** Returns 1 where either number is not 0. */
function either(a: Value, b: Value): Value {
	return a.graph.node('Max', [a, b], a.shape);
}

/** Returns whether any row [rows, 1] is still 0: bool []. */
function unfinished(finished: Value): Value {
	const { graph } = finished;
	const least = graph.node('ReduceMin', [cast(finished, 'float32'), graph.integers([0, 1])], [], {
		attributes: { keepdims: 0 },
	});
	return compare('LessOrEqual', least, graph.constant('float32', [], [0]));
}
