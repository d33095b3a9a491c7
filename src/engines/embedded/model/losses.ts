import {
	add,
	cast,
	clip,
	compare,
	exp,
	log,
	maximum,
	minimum,
	multiply,
	negate,
	subtract,
	where,
} from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { reshape, split } from '../onnx/layout.ts';
import { reduceSum } from '../onnx/reduction.ts';

/** Returns the sum over all elements, as a scalar with shape []. */
function total(x: Value): Value {
	return reduceSum(x, undefined, false);
}

/** Returns -sum of weight * logprob. Inputs have shape [rows, tokens]. */
export function sftLoss(logprobs: Value, weights: Value): Value {
	return negate(total(multiply(logprobs, weights)));
}

/** Computes log(1 + exp(z)) as max(z, 0) + log(1 + exp(-|z|)) to avoid overflow. */
function softplus(z: Value): Value {
	const zero = z.graph.scalar(0);
	const positive = compare('Greater', z, zero);
	return add(where(positive, z, zero), log(add(exp(where(positive, negate(z), z)), 1)));
}

/**
 * Returns the sum of weight * binary cross-entropy of sigmoid(logit) and label, both in 0..1 (labels can be
 * fractional): softplus(z) - y z. Inputs have shape [rows, tokens].
 */
export function valueLoss(logits: Value, labels: Value, weights: Value): Value {
	return total(multiply(subtract(softplus(logits), multiply(labels, logits)), weights));
}

/**
 * Returns KL(teacher || student) for each token, over the whole vocabulary: [..., vocabulary] to [...].
 * @param student log-probabilities at the same temperature as `teacher`
 */
export function divergenceOf(student: Value, teacher: Value): Value {
	return reduceSum(multiply(exp(teacher), subtract(teacher, student)), [-1], false);
}

export interface DistillInputs {
	/** See `divergenceOf`: [rows, tokens]. */
	readonly divergence: Value;
	/** [rows, tokens] */
	readonly weights: Value;
	/** `soft` is (1 - alpha) temperature^2, and `hard` is alpha. */
	readonly soft: Value;
	readonly hard: Value;
}

/**
 * Returns the sum of weight * (soft KL(teacher || student) - hard logprob): Hinton, Vinyals and Dean 2015, section 2.
 * The forward divergence compares distributions softened by a temperature T. Its gradient shrinks as 1/T^2, which
 * `soft` compensates for. Token logprobs are from the student at temperature 1: [rows, tokens].
 */
export function distillLoss(logprobs: Value, { divergence, weights, soft, hard }: DistillInputs): Value {
	const tokenLoss = subtract(multiply(divergence, soft), multiply(logprobs, hard));
	return total(multiply(tokenLoss, weights));
}

export interface SequenceInputs {
	/** [rows, tokens]: 1 for tokens that count, 0 otherwise. */
	readonly mask: Value;
	/** [rows, 1] */
	readonly weights: Value;
	/** [rows, 1] */
	readonly advantages: Value;
	/** [rows, tokens]; if absent, the current log-probabilities are used, detached. */
	readonly old?: { readonly logprobs: Value; readonly low: Value; readonly high: Value };
}

/**
 * Returns the sum over rows of weight * -min(ratio A, clip(ratio, low, high) A), where the ratio is for whole
 * completions: exp of the sum over tokens of logprob - old. RLOO (Ahmadian et al. 2024, equation 7), with clipping as
 * in TRL 1.13.
 */
export function sequenceLoss(logprobs: Value, { mask, weights, advantages, old }: SequenceInputs): Value {
	const counts = cast(mask, 'bool');
	const difference = subtract(logprobs, old?.logprobs ?? logprobs.detach());
	const ratio = exp(reduceSum(where(counts, difference, logprobs.graph.scalar(0)), [1]));
	const surrogate = multiply(ratio, advantages);
	const bound = old ? minimum(surrogate, multiply(clip(ratio, old.low, old.high), advantages)) : surrogate;
	return negate(total(multiply(bound, weights)));
}

/**
 * Returns the score difference between the two rows of each consecutive pair, preferred row first ([rows, 1] to [pairs,
 * 1]), and the negative log-likelihood that the preferred row wins, -log sigmoid(difference) = softplus(-difference)
 * (Bradley and Terry 1952), times `weight`.
 */
export function pairsLoss(scores: Value, weight: Value): Value {
	const [chosen, rejected] = split(reshape(scores, ['pairs', 2]), 2, 1) as [Value, Value];
	return multiply(total(softplus(subtract(rejected, chosen))), weight);
}

export interface PreferenceInputs {
	/** [rows, tokens]: 1 for tokens that count, 0 otherwise. */
	readonly mask: Value;
	/** [rows, 1]: summed log-probabilities of the completions under the reference. */
	readonly reference: Value;
	readonly beta: Value;
	/** Weight per pair. */
	readonly weight: Value;
}

/**
 * DPO loss (Rafailov et al. 2023, equation 7). A completion's score is beta times the log-ratio of policy and
 * reference.
 */
export function preferenceLoss(logprobs: Value, { mask, reference, beta, weight }: PreferenceInputs): Value {
	const counted = where(cast(mask, 'bool'), logprobs, logprobs.graph.scalar(0));
	return pairsLoss(multiply(subtract(reduceSum(counted, [1]), reference), beta), weight);
}

export interface CriticInputs {
	/** [rows, tokens]; 0 for ignored positions. */
	readonly weights: Value;
	/** [rows, tokens] */
	readonly returns: Value;
	/** Values at sampling time, [rows, tokens], and the distance from them beyond which a new value is clipped. */
	readonly old: Value;
	readonly range: Value;
}

/**
 * Returns the sum of weight * 1/2 max((V - R)^2, (clip(V, old - range, old + range) - R)^2): PPO's clipped value loss
 * as in TRL's PPOTrainer (0.20), after Baselines' ppo2. Inputs have shape [rows, tokens].
 */
export function criticLoss(values: Value, { weights, returns, old, range }: CriticInputs): Value {
	const square = (x: Value): Value => multiply(x, x);
	const free = square(subtract(values, returns));
	const bound = square(subtract(clip(values, subtract(old, range), add(old, range)), returns));
	// Take the larger loss. If both are equal, use the gradient of the unclipped one.
	const larger = maximum(free, bound);
	return multiply(total(multiply(larger, weights)), values.graph.scalar(0.5));
}
