import { add, cast, compare, log, multiply, negate } from '../onnx/elementwise.ts';
import { activatedLinear } from '../onnx/fused.ts';
import type { Value } from '../onnx/graph.ts';
import { fixed, reshape } from '../onnx/layout.ts';
import { linear } from '../onnx/matmul.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { softmax } from '../onnx/softmax.ts';

/** How a device chooses the next token from the logits. */
export type DeviceChoice = 'random' | 'greedy';

/** What the host learns about the chosen tokens. */
export const chosenOutputs = ['tokens', 'logprobs', 'entropies'] as const;

/** Large enough that only the most likely token has a nonzero probability, and small enough that logits remain finite. */
const sharpness = 1e30;

/** A slope that scales any difference between two probabilities to much more than 1. */
const steep = 2 ** 100;

export interface Choice {
	/** int32 [rows, 1] */
	readonly tokens: Value;
	/** [rows, vocabulary] */
	readonly probabilities: Value;
}

/**
 * Chooses a token for each row: the first one whose cumulative probability exceeds the noise.
 * @param logits [rows, vocabulary], at the sampling temperature
 * @param noise [rows, 1], uniform in [0, 1); 0 for greedy choices
 */
export function chooseTokens(logits: Value, noise: Value, choice: DeviceChoice): Choice {
	const probabilities = softmax(logits);
	const weights = choice === 'greedy' ? softmax(multiply(logits, sharpness)) : probabilities;
	const passed = reduceSum(isPassed(weights, noise), [1]);
	return { tokens: cast(passed, 'int32'), probabilities };
}

/**
 * Returns 1 for tokens whose cumulative probability does not exceed the noise, and 0 for others. Omits the last token,
 * which is chosen if no other is, regardless of rounding in the sums: [rows, vocabulary - 1].
 */
function isPassed(weights: Value, noise: Value): Value {
	const { graph } = weights;
	const vocabulary = fixed(weights.dim(1));
	const fused = graph.dialect.fusedActivations;
	const before = Float32Array.from({ length: vocabulary * (vocabulary - 1) }, (_, i) =>
		Math.floor(i / (vocabulary - 1)) <= i % (vocabulary - 1) ? (fused ? -1 : 1) : 0,
	);
	const sums = graph.constant('float32', [vocabulary, vocabulary - 1], before);
	// clip(steep (noise - cumulative) + 1, 0, 1)
	if (fused) return activatedLinear(weights, sums, noise, 'HardSigmoid', [steep, 1]);
	return cast(compare('LessOrEqual', linear(weights, sums), noise), 'float32');
}

/** Returns the log-probability of each token, and the entropy of its distribution: [rows, steps] each. */
export function scoresOf({ tokens, probabilities }: Choice): { readonly logprobs: Value; readonly entropies: Value } {
	const { graph } = tokens;
	const [rows, steps] = [tokens.dim(0), tokens.dim(1)];
	const of = reshape(probabilities, [rows, steps, probabilities.dim(-1)]);
	// Adding the smallest normal number keeps the logarithm of 0 finite.
	const logprobs = log(add(of, 2 ** -126));
	const index = reshape(tokens, [rows, steps, 1]);
	const picked = graph.node('GatherElements', [logprobs, index], [rows, steps, 1], { attributes: { axis: 2 } });
	const entropies = negate(reduceSum(multiply(of, logprobs), [2], false));
	return { logprobs: reshape(picked, [rows, steps]), entropies };
}
