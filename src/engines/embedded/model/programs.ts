import { recomputesLayers } from '../../../core/memory/rowBytes.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import { cpuDialect, type Dialect, decodeDialect } from '../onnx/dialect.ts';
import { add, exp, multiply, negate, sigmoid, subtract } from '../onnx/elementwise.ts';
import { gradients } from '../onnx/gradient.ts';
import { Graph, type Value } from '../onnx/graph.ts';
import { gather, oneHot } from '../onnx/indexing.ts';
import { leadingRows } from '../onnx/layout.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { logSoftmax } from '../onnx/softmax.ts';
import { cachedAttention, selfAttention, splitHeads, splitHeadsOfOne } from './attention.ts';
import {
	criticLoss,
	distillLoss,
	divergenceOf,
	pairsLoss,
	preferenceLoss,
	sequenceLoss,
	sftLoss,
	valueLoss,
} from './losses.ts';
import { outputGroups } from './optimizerPrograms.ts';
import { PackedBatch } from './packedTrunk.ts';
import type { ParameterGroup } from './parameterGroups.ts';
import { parameterSpecs, valueParameterSpecs } from './parameters.ts';
import { policyLoss } from './policyLoss.ts';
import { type PolicyVariant, policyInputs } from './policyVariant.ts';
import { decoder, head, valueHead } from './transformer.ts';
import {
	bindValueWeights,
	inputWeights,
	type ModelWeights,
	type TrunkWeights,
	type ValueWeights,
	variableWeights,
} from './weights.ts';

/**
 * Engine programs. Sizes that are only known at run time are named (`rows`, `tokens`, `slots`), so one session can run
 * any batch. Parameters are inputs under their own names. Token inputs are int32. Masks are added to scores.
 */

/** Gradient program variants. Each graph contains only what its loss needs. */
export type GradientVariant =
	| { readonly kind: 'sft' }
	| { readonly kind: 'distill' }
	| PolicyVariant
	/** Per-token advantages. */
	| { readonly kind: 'ppo'; readonly old: boolean }
	/** Ratios of whole completions. */
	| { readonly kind: 'rloo'; readonly old: boolean }
	/** Rows are pairs: the better completion, then the worse one. */
	| { readonly kind: 'dpo' };

export function variantName(variant: GradientVariant): string {
	return Object.entries(variant)
		.flatMap(([name, value]) => (typeof value === 'string' ? [value] : value ? [name] : []))
		.join(' ');
}

export const gradientName = (parameter: string): string => `gradient ${parameter}`;
export const cacheName = (part: 'keys' | 'values', layer: number): string => `${part} ${layer}`;

/** Returns the final hidden states of whole sequences. */
function encodeSequences(
	shape: ModelShape,
	weights: TrunkWeights,
	tokens: Value,
	keep?: (layer: number, keys: Value, values: Value) => void,
	extra?: Value,
): Value {
	const mask = tokens.graph.input('mask', ['tokens', 'tokens']);
	const read = add(gather(weights.tokens, tokens), leadingRows(weights.positions, tokens, 1));
	const embedded = extra === undefined ? read : add(read, extra);
	const attend = (layer: number, qkv: Value): Value => {
		const heads = splitHeads(shape, qkv);
		keep?.(layer, heads.keys, heads.values);
		return selfAttention(shape, heads, mask);
	};
	return decoder(weights, embedded, attend, { recomputes: recomputesLayers(shape) });
}

/** Returns log softmax(logits / temperature). */
function softened(logits: Value): Value {
	return logSoftmax(multiply(logits, logits.graph.input('inverse temperature', [])));
}

function logDistribution(batch: PackedBatch, weights: ModelWeights): Value {
	return softened(head(weights, batch.encode(weights)));
}

/** Maps a packed micro-batch to next-token log-probabilities for each of the rows' own tokens: [own, vocabulary]. */
export function distributionProgram(shape: ModelShape, dialect = cpuDialect): Graph {
	const graph = new Graph('float32', dialect);
	graph.output('distribution', logDistribution(new PackedBatch(shape, graph), inputWeights(graph, shape)));
	return graph;
}

/** Maps [own, vocabulary] to [rows, kept]. */
function logprobsOfTargets(batch: PackedBatch, distribution: Value): Value {
	const hot = oneHot(batch.targets, batch.shape.vocabulary);
	return reduceSum(multiply(batch.toRows(distribution), hot), [-1], false);
}

/**
 * Maps a packed micro-batch to logprobs [rows, kept].
 * @param bind declares the weights; by default, as inputs
 */
export function logprobsProgram(
	shape: ModelShape,
	dialect = cpuDialect,
	bind: (graph: Graph) => ModelWeights = (graph) => inputWeights(graph, shape),
): Graph {
	const graph = new Graph('float32', dialect);
	const batch = new PackedBatch(shape, graph);
	graph.output('logprobs', logprobsOfTargets(batch, logDistribution(batch, bind(graph))));
	return graph;
}

/**
 * Returns the loss for a variant and declares its inputs.
 * @param divergence divergence from the teacher per token: [rows, kept]
 */
function lossOf(variant: GradientVariant, logprobs: Value, weights: Value, divergence: () => Value): Value {
	const { graph } = logprobs;
	const old = () => ({
		logprobs: graph.input('old logprobs', ['rows', 'kept']),
		low: graph.input('ratio low', []),
		high: graph.input('ratio high', []),
	});
	switch (variant.kind) {
		case 'sft':
			return sftLoss(logprobs, weights);
		case 'distill':
			return distillLoss(logprobs, {
				divergence: divergence(),
				weights,
				soft: graph.input('soft', []),
				hard: graph.input('hard', []),
			});
		case 'grpo':
			return policyLoss(logprobs, { weights, ...policyInputs(variant, graph) });
		case 'ppo':
			return policyLoss(logprobs, {
				weights,
				advantages: graph.input('advantages', ['rows', 'kept']),
				...(variant.old ? clippedTo(old()) : { surrogate: { kind: 'clip' } }),
			});
		case 'rloo':
			return sequenceLoss(logprobs, {
				mask: weights,
				weights: graph.input('row weights', ['rows', 1]),
				advantages: graph.input('advantages', ['rows', 1]),
				...(variant.old ? { old: old() } : {}),
			});
		case 'dpo':
			return preferenceLoss(logprobs, {
				mask: weights,
				reference: graph.input('reference logprobs', ['rows', 1]),
				beta: graph.input('beta', []),
				weight: graph.input('pair weight', []),
			});
	}
}

/** Returns the inputs of a clipped loss. */
const clippedTo = ({ logprobs, ...range }: { logprobs: Value; low: Value; high: Value }) => ({
	old: logprobs,
	surrogate: { kind: 'clip', range } as const,
});

/**
 * Computes one gradient. Inputs: a packed micro-batch (`packedInputs`), weights [rows, kept], and the following:
 * - GRPO: advantages [rows, 1] or [rows, kept]; depending on the variant, old and reference logprobs, entropy weights
 *   and observation weights [rows, kept], and scalars (policyVariant.ts)
 * - PPO: advantages [rows, kept]; depending on the variant, old logprobs with ratio low / high
 * - RLOO (weights are 0 or 1): row weights [rows, 1] and advantages [rows, 1]; depending on the variant, old logprobs
 *   with ratio low / high
 * - DPO (weights are 0 or 1): reference logprobs [rows, 1], beta and pair weight
 * - distillation: teacher [own, vocabulary], soft and hard (see `distillLoss`)
 *
 * Outputs: loss [], logprobs and entropies [rows, kept], and the gradient of each parameter, or of each group if
 * `groups` is given.
 */
export function gradientProgram(
	shape: ModelShape,
	variant: GradientVariant,
	floatType: Graph['floatType'] = 'float32',
	dialect?: Dialect,
	groups: readonly ParameterGroup[] | null = null,
): Graph {
	const graph = new Graph(floatType, dialect);
	const parameters = variableWeights(graph, shape);
	const batch = new PackedBatch(shape, graph);
	const logits = head(parameters, batch.encode(parameters));
	// Temperature softens the comparison with the teacher, but the tokens themselves are trained at temperature 1.
	const distribution = variant.kind === 'distill' ? logSoftmax(logits) : softened(logits);
	const logprobs = logprobsOfTargets(batch, distribution);
	const weights = graph.input('weights', ['rows', 'kept']);
	const divergence = () => {
		const student = softened(logits);
		return batch.toRows(divergenceOf(student, graph.input('teacher', student.shape)));
	};
	const entropiesOf = () => batch.toRows(negate(reduceSum(multiply(exp(distribution), distribution), [-1], false)));
	const bonus = variant.kind === 'grpo' && variant.entropy ? entropiesOf() : null;
	const plain = lossOf(variant, logprobs, weights, divergence);
	const rewarded = bonus === null ? plain : subtract(plain, entropyBonus(bonus));
	const observes = variant.kind === 'grpo' && variant.observations;
	const loss = observes ? subtract(rewarded, observationTerm(logprobs)) : rewarded;
	const all = gradients(loss, parameters.all);
	graph.output('loss', loss);
	graph.output('logprobs', logprobs);
	graph.untracked(() => graph.output('entropies', bonus ?? entropiesOf()));
	outputGradients(graph, parameterSpecs(shape), all, groups);
	return graph;
}

/** Returns the weighted sum of the tokens' entropies. */
const entropyBonus = (entropies: Value): Value =>
	reduceSum(multiply(entropies, entropies.graph.input('entropy weights', ['rows', 'kept'])), undefined, false);

/** Returns the weighted sum of the log-probabilities of an environment's tokens. */
const observationTerm = (logprobs: Value): Value =>
	reduceSum(multiply(logprobs, logprobs.graph.input('observation weights', ['rows', 'kept'])), undefined, false);

/** @param groups if given, outputs one vector per group instead of one tensor per parameter */
export function outputGradients(
	graph: Graph,
	specs: readonly ParameterSpec[],
	all: readonly Value[],
	groups: readonly ParameterGroup[] | null,
): void {
	graph.outputsEarly = true;
	const byName = new Map(specs.map(({ name }, i) => [name, all[i] as Value]));
	if (groups !== null) {
		outputGroups(graph, 'gradient', groups, ({ name }) => byName.get(name) as Value);
		return;
	}
	for (const [name, gradient] of byName) graph.output(gradientName(name), gradient);
}

/**
 * Prefill: maps tokens [prompts, tokens] and last [prompts] (flat index of each prompt's last token) to logits [prompts,
 * vocabulary] and the cache entries [prompts, heads, tokens, headWidth] of every layer.
 */
export function prefillProgram(shape: ModelShape, dialect = cpuDialect): Graph {
	const graph = new Graph('float32', dialect);
	const logits = prefill(graph, shape, inputWeights(graph, shape), (layer, keys, values) => {
		graph.output(cacheName('keys', layer), keys);
		graph.output(cacheName('values', layer), values);
	});
	graph.output('logits', logits);
	return graph;
}

/** Declares the inputs of the prefill program, and returns its logits. `keep` receives the cache entries. */
export function prefill(
	graph: Graph,
	shape: ModelShape,
	weights: ModelWeights,
	keep: (layer: number, keys: Value, values: Value) => void,
): Value {
	const tokens = graph.input('tokens', ['prompts', 'tokens'], 'int32');
	const last = graph.input('last', ['prompts'], 'int32');
	const hidden = encodeSequences(shape, weights, tokens, keep);
	const flat = graph.node('Reshape', [hidden, graph.integers([-1, shape.width])], ['prompts*tokens', shape.width]);
	return head(weights, graph.node('Gather', [flat, last], ['prompts', shape.width], { attributes: { axis: 0 } }));
}

/**
 * One decoding step for all rows: maps tokens, positions [rows], the cache [rows, heads, slots, headWidth] and its mask
 * [rows, 1, 1, slots] to logits [rows, vocabulary] and the new cache entries [rows, heads, 1, headWidth].
 */
export function decodeProgram(shape: ModelShape, dialect = cpuDialect): Graph {
	const graph = new Graph('float32', decodeDialect(dialect));
	const weights = inputWeights(graph, shape);
	const tokens = graph.input('tokens', ['rows', 1], 'int32');
	const positions = graph.input('positions', ['rows', 1], 'int32');
	const mask = graph.input('mask', ['rows', 1, 1, 'slots']);
	const embedded = add(gather(weights.tokens, tokens), gather(weights.positions, positions));
	const cache = ['rows', shape.heads, 'slots', shape.width / shape.heads];
	const hidden = decoder(weights, embedded, (layer, qkv) => {
		const heads = splitHeadsOfOne(shape, qkv);
		graph.output(`new ${cacheName('keys', layer)}`, heads.keys);
		graph.output(`new ${cacheName('values', layer)}`, heads.values);
		const keys = graph.input(cacheName('keys', layer), cache);
		return cachedAttention(shape, heads, keys, graph.input(cacheName('values', layer), cache), mask);
	});
	graph.output('logits', head(weights, hidden));
	return graph;
}

/**
 * Returns a value model's logits: [rows, tokens]. The model also reads each token's surprisal under the policy, which
 * it cannot compute from its own layers.
 */
function valueLogits(shape: ModelShape, graph: Graph, weights: ValueWeights): Value {
	const tokens = graph.input('tokens', ['rows', 'tokens'], 'int32');
	const surprises = graph.input('surprises', ['rows', 'tokens', 1]);
	const extra = multiply(surprises, weights.surprise);
	return valueHead(weights, encodeSequences(shape, weights, tokens, undefined, extra));
}

/** Value model output: the probability of a correct answer, in 0..1, or an unbounded score. */
export type ValueOutput = 'probability' | 'score';

function outputOf(logits: Value, output: ValueOutput): Value {
	return output === 'probability' ? sigmoid(logits) : multiply(logits, 1);
}

/** Maps tokens [rows, tokens] and their surprisals [rows, tokens, 1] to the value after each token, [rows, tokens]. */
export function valuesProgram(shape: ModelShape, output: ValueOutput, dialect = cpuDialect): Graph {
	const graph = new Graph('float32', dialect);
	const weights = bindValueWeights(shape, (spec) => graph.input(spec.name, spec.shape));
	graph.output('values', outputOf(valueLogits(shape, graph, weights), output));
	return graph;
}

/** Training target for a value model: prefix labels, preferences between two completions, or returns. */
export type ValueVariant = 'labels' | 'pairs' | 'returns';

export const valueOutputs: Readonly<Record<ValueVariant, ValueOutput>> = {
	labels: 'probability',
	pairs: 'score',
	returns: 'score',
};

/**
 * Computes one value model gradient. Inputs: tokens, weights [rows, tokens] and surprisals [rows, tokens, 1]; plus
 * either labels, or a pair weight [] if rows are pairs and weights are 1 at the scored token, or returns and old values
 * with a clip range []. Outputs: loss [], values [rows, tokens], gradients.
 */
export function valueGradientProgram(
	shape: ModelShape,
	floatType: Graph['floatType'] = 'float32',
	variant: ValueVariant = 'labels',
	dialect?: Dialect,
	groups: readonly ParameterGroup[] | null = null,
): Graph {
	const graph = new Graph(floatType, dialect);
	const parameters = bindValueWeights(shape, (spec) => graph.variable(spec.name, spec.shape));
	const logits = valueLogits(shape, graph, parameters);
	const weights = graph.input('weights', ['rows', 'tokens']);
	const loss = valueLossOf(variant, logits, weights);
	const all = gradients(loss, parameters.all);
	graph.untracked(() => graph.output('values', outputOf(logits.detach(), valueOutputs[variant])));
	graph.output('loss', loss);
	outputGradients(graph, valueParameterSpecs(shape), all, groups);
	return graph;
}

function valueLossOf(variant: ValueVariant, logits: Value, weights: Value): Value {
	const { graph } = logits;
	switch (variant) {
		case 'labels':
			return valueLoss(logits, graph.input('labels', ['rows', 'tokens']), weights);
		case 'pairs':
			return pairsLoss(reduceSum(multiply(logits, weights), [1]), graph.input('pair weight', []));
		case 'returns':
			return criticLoss(logits, {
				weights,
				returns: graph.input('returns', ['rows', 'tokens']),
				old: graph.input('old values', ['rows', 'tokens']),
				range: graph.input('clip range', []),
			});
	}
}
