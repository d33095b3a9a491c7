import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import type { Graph, Value } from '../onnx/graph.ts';
import { parameterSpecs, valueParameterSpecs } from './parameters.ts';

export interface BlockWeights {
	/** [width] */
	readonly attentionNorm: Value;
	/** [width, 3 width]: queries, keys and values concatenated. */
	readonly qkv: Value;
	/** [width, width] */
	readonly attentionOutput: Value;
	/** [width] */
	readonly feedForwardNorm: Value;
	/** [width, feedForward] */
	readonly up: Value;
	/** [feedForward, width] */
	readonly down: Value;
}

/** Parameters shared by the policy and value models, as graph tensors. */
export interface TrunkWeights {
	readonly all: readonly Value[];
	/** [vocabulary, width] */
	readonly tokens: Value;
	/** [context, width] */
	readonly positions: Value;
	readonly blocks: readonly BlockWeights[];
	/** [width] */
	readonly norm: Value;
}

export interface ModelWeights extends TrunkWeights {
	/** [width, vocabulary] */
	readonly head: Value;
}

export interface ValueWeights extends TrunkWeights {
	/** [width]; multiplied by a token's surprisal and added to its embedding. */
	readonly surprise: Value;
	/** [width, 1] */
	readonly value: Value;
	/** [1] */
	readonly bias: Value;
}

type Bind = (spec: ParameterSpec) => Value;

function bindAll(specs: readonly ParameterSpec[], bind: Bind) {
	const all = specs.map(bind);
	const byName = new Map(specs.map((spec, i) => [spec.name, all[i] as Value]));
	const get = (name: string): Value => {
		const value = byName.get(name);
		if (value === undefined) throw new RangeError(`The model has no parameter ${name}`);
		return value;
	};
	return { all, get };
}

function trunkOf(shape: ModelShape, all: readonly Value[], get: (name: string) => Value): TrunkWeights {
	return {
		all,
		tokens: get('embedding.tokens'),
		positions: get('embedding.positions'),
		blocks: Array.from({ length: shape.layers }, (_, layer) => ({
			attentionNorm: get(`blocks.${layer}.attention.norm`),
			qkv: get(`blocks.${layer}.attention.qkv`),
			attentionOutput: get(`blocks.${layer}.attention.output`),
			feedForwardNorm: get(`blocks.${layer}.feed_forward.norm`),
			up: get(`blocks.${layer}.feed_forward.up`),
			down: get(`blocks.${layer}.feed_forward.down`),
		})),
		norm: get('norm'),
	};
}

/** Creates a tensor for each parameter. `bind` determines whether it is an input, a variable or a constant. */
export function bindWeights(shape: ModelShape, bind: Bind): ModelWeights {
	const { all, get } = bindAll(parameterSpecs(shape), bind);
	return { ...trunkOf(shape, all, get), head: get('head') };
}

/** Like `bindWeights`, for a value model. */
export function bindValueWeights(shape: ModelShape, bind: Bind): ValueWeights {
	const { all, get } = bindAll(valueParameterSpecs(shape), bind);
	return {
		...trunkOf(shape, all, get),
		surprise: get('value.surprise'),
		value: get('value.weight'),
		bias: get('value.bias'),
	};
}

/**
 * Makes each parameter an input under its own name. The caller passes views of its flat vector, which are not copied.
 */
export function inputWeights(graph: Graph, shape: ModelShape): ModelWeights {
	return bindWeights(shape, (spec) => graph.input(spec.name, spec.shape));
}

/**
 * Makes each parameter a constant.
 * @param flat all parameters, which must not change until the program is encoded
 */
export function constantWeights(graph: Graph, shape: ModelShape, flat: Float32Array): ModelWeights {
	let offset = 0;
	return bindWeights(shape, (spec) => {
		const start = offset;
		offset += spec.shape.reduce((product, size) => product * size, 1);
		return graph.initializer(spec.name, 'float32', spec.shape, flat.subarray(start, offset));
	});
}

/** Like `inputWeights`, but with gradients. */
export function variableWeights(graph: Graph, shape: ModelShape): ModelWeights {
	return bindWeights(shape, (spec) => graph.variable(spec.name, spec.shape));
}
