import type { ParameterSpec } from '../learner.ts';
import type { Dialect } from '../onnx/dialect.ts';
import { add, divide, minimum, multiply, sqrt, subtract } from '../onnx/elementwise.ts';
import { Graph, type Value } from '../onnx/graph.ts';
import { concat, expandTo, reshape, slice } from '../onnx/layout.ts';
import { reduceSum, sumOfSquares } from '../onnx/reduction.ts';
import type { ParameterGroup } from './parameterGroups.ts';
import { residentName } from './residentName.ts';

/**
 * Programs that train on a device that keeps its tensors. Gradients, moments and the weights that the optimizer
 * updates are one vector per group of parameters; other programs read the same weights as one tensor per parameter.
 */

/** A kind of vector with one element per parameter element. */
export type GroupVector = 'weights' | 'first' | 'second' | 'gradient' | 'sum';

export const groupName = (vector: GroupVector, group: number): string => `${vector} of group ${group}`;

/** Outputs one vector per group, built from one tensor per parameter. */
export function outputGroups(
	graph: Graph,
	vector: GroupVector,
	groups: readonly ParameterGroup[],
	tensorOf: (parameter: ParameterSpec) => Value,
): void {
	for (const [i, { parameters, size }] of groups.entries()) {
		const parts = parameters.map(({ spec, count }) => reshape(tensorOf(spec), [count]));
		const missing = size - parameters.reduce((sum, { count }) => sum + count, 0);
		if (missing > 0) parts.push(graph.constant(graph.floatType, [missing], new Array(missing).fill(0)));
		graph.output(residentName(groupName(vector, i)), concat(parts, 0));
	}
}

/** Copies the weights to the vectors that the optimizer updates. */
export function flattenProgram(groups: readonly ParameterGroup[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	outputGroups(graph, 'weights', groups, ({ name, shape }) => graph.input(name, shape));
	return graph;
}

/** Returns vectors filled with the input `value` [1], such as zero moments. */
export function fillProgram(groups: readonly ParameterGroup[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	// This is an input because the runtime would store constant vectors with the program.
	const value = graph.input('value', [1]);
	for (const [i, { size }] of groups.entries()) {
		graph.output(residentName(groupName('sum', i)), expandTo(value, [size]));
	}
	return graph;
}

/** Copies vectors to or from the device. Inputs and outputs are named after `vector`. */
export function transferProgram(groups: readonly ParameterGroup[], vector: GroupVector, dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const [i, { size }] of groups.entries()) {
		graph.output(residentName(groupName(vector, i)), graph.input(groupName(vector, i), [size]));
	}
	return graph;
}

/** Adds the gradient of a micro-batch to the sum. */
export function addProgram(groups: readonly ParameterGroup[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	for (const [i, { size }] of groups.entries()) {
		const [sum, gradient] = (['sum', 'gradient'] as const).map((name) => graph.input(groupName(name, i), [size]));
		graph.output(residentName(groupName('sum', i)), add(sum as Value, gradient as Value));
	}
	return graph;
}

/** Scalar inputs of `adamWProgram`. */
export const adamWScalars = [
	'max norm',
	'beta1',
	'gradient share',
	'beta2',
	'square share',
	'keep',
	'step size',
	'inverse root',
	'epsilon',
] as const;
export type AdamWScalars = Readonly<Record<(typeof adamWScalars)[number], number>>;

/**
 * AdamW with the arithmetic of `adamW` in compute/adamW.ts, including the gradient norm and clipping. Inputs: weights,
 * moments and summed gradient of each group, and `adamWScalars`. Outputs: the new weights by group and by parameter,
 * the new moments, and the norm [1, 1] of the gradient before clipping.
 */
export function adamWProgram(groups: readonly ParameterGroup[], dialect: Dialect): Graph {
	const graph = new Graph('float32', dialect);
	const scalars = Object.fromEntries(adamWScalars.map((name) => [name, graph.input(name, [])])) as Record<
		(typeof adamWScalars)[number],
		Value
	>;
	const vector = (name: GroupVector, i: number) => graph.input(groupName(name, i), [groups[i]?.size as number]);
	const sums = groups.map((_, i) => vector('sum', i));
	const norm = sqrt(normSquared(groups, sums));
	graph.output('norm', norm);
	const limit = divide(reshape(scalars['max norm'], [1, 1]), add(norm, 1e-6));
	const scale = reshape(minimum(limit, graph.constant('float32', [1, 1], [1])), [1]);
	for (const [i, group] of groups.entries()) {
		const gradient = multiply(sums[i] as Value, scale);
		const first = blend(vector('first', i), gradient, scalars.beta1, scalars['gradient share']);
		const square = multiply(gradient, gradient);
		const second = blend(vector('second', i), square, scalars.beta2, scalars['square share']);
		const root = add(multiply(sqrt(second), scalars['inverse root']), scalars.epsilon);
		const change = divide(multiply(first, scalars['step size']), root);
		const old = vector('weights', i);
		const weights = subtract(group.decay ? multiply(old, scalars.keep) : old, change);
		graph.output(residentName(groupName('weights', i)), weights);
		graph.output(residentName(groupName('first', i)), first);
		graph.output(residentName(groupName('second', i)), second);
		for (const { spec, start, count } of group.parameters) {
			graph.output(residentName(spec.name), reshape(slice(weights, 0, start, start + count), spec.shape));
		}
	}
	return graph;
}

function blend(old: Value, added: Value, keep: Value, share: Value): Value {
	return add(multiply(old, keep), multiply(added, share));
}

/** Returns the sum of squares over all vectors, with shape [1, 1]. */
function normSquared(groups: readonly ParameterGroup[], vectors: readonly Value[]): Value {
	return vectors
		.map((vector, i) => {
			const { size, columns } = groups[i] as ParameterGroup;
			const rows = sumOfSquares(reshape(vector, [size / columns, columns]));
			return reduceSum(reshape(rows, [1, size / columns]), [1]);
		})
		.reduce((a, b) => add(a, b));
}
