import type { ModelShape } from '../../shared/modelShape.ts';
import { cpuDialect, type Dialect } from '../onnx/dialect.ts';
import { exp, multiply, negate } from '../onnx/elementwise.ts';
import { gradients } from '../onnx/gradient.ts';
import { Graph } from '../onnx/graph.ts';
import { oneHot, take } from '../onnx/indexing.ts';
import { reshape } from '../onnx/layout.ts';
import { linear } from '../onnx/matmul.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { logSoftmax } from '../onnx/softmax.ts';
import { LatentTrunk } from './latentTrunk.ts';
import { sftLoss } from './losses.ts';
import type { ParameterGroup } from './parameterGroups.ts';
import { parameterSpecs } from './parameters.ts';
import { cacheName, outputGradients } from './programs.ts';
import { head } from './transformer.ts';
import { inputWeights, variableWeights } from './weights.ts';

/** Programs for sequences with continuous thoughts, with one program for each number of thoughts. */

/**
 * Computes the gradient of `sftLoss` on the text after the thoughts. Inputs: those of `LatentTrunk`; targets and weights
 * [rows, after]. Outputs: loss [], logprobs and entropies [rows, after], and gradients, as in `gradientProgram`.
 */
export function latentGradientProgram(
	shape: ModelShape,
	thoughts: number,
	floatType: Graph['floatType'] = 'float32',
	dialect?: Dialect,
	groups: readonly ParameterGroup[] | null = null,
): Graph {
	const graph = new Graph(floatType, dialect);
	const parameters = variableWeights(graph, shape);
	const { hidden } = new LatentTrunk(shape, graph, parameters, thoughts);
	const distribution = logSoftmax(head(parameters, hidden));
	const hot = oneHot(graph.input('targets', ['rows', 'after'], 'int32'), shape.vocabulary);
	const logprobs = reduceSum(multiply(distribution, hot), [-1], false);
	const loss = sftLoss(logprobs, graph.input('weights', ['rows', 'after']));
	const all = gradients(loss, parameters.all);
	graph.output('loss', loss);
	graph.output('logprobs', logprobs);
	graph.untracked(() =>
		graph.output('entropies', negate(reduceSum(multiply(exp(distribution), distribution), [-1], false))),
	);
	outputGradients(graph, parameterSpecs(shape), all, groups);
	return graph;
}

/**
 * Prefill for prompts with thoughts: maps the inputs of `LatentTrunk` and last [rows] (flat index of each prompt's last
 * token in `after`) to logits [rows, vocabulary], the cache entries [rows, heads, tokens, headWidth] of every layer and,
 * if there are thoughts, the logits that the head assigns to them, [rows, thoughts, vocabulary].
 */
export function latentPrefillProgram(shape: ModelShape, thoughts: number, dialect = cpuDialect): Graph {
	const graph = new Graph('float32', dialect);
	const weights = inputWeights(graph, shape);
	const trunk = new LatentTrunk(shape, graph, weights, thoughts);
	for (const [layer, { keys, values }] of trunk.entries.entries()) {
		graph.output(cacheName('keys', layer), keys);
		graph.output(cacheName('values', layer), values);
	}
	const last = take(reshape(trunk.hidden, ['places', shape.width]), graph.input('last', ['rows'], 'int32'));
	graph.output('logits', head(weights, last));
	if (trunk.thoughts !== null) graph.output('thought logits', linear(trunk.thoughts, weights.head));
	return graph;
}
