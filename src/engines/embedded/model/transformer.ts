import { add, silu } from '../onnx/elementwise.ts';
import { addAndNorm, fusedSilu } from '../onnx/fused.ts';
import type { Value } from '../onnx/graph.ts';
import { linear } from '../onnx/matmul.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { normEpsilon, rmsNorm } from './rmsNorm.ts';
import type { ModelWeights, TrunkWeights, ValueWeights } from './weights.ts';

/**
 * Maps a layer's queries, keys and values ([rows, tokens, 3 width]) to the attention output ([rows, tokens, width]).
 */
export type Attend = (layer: number, qkv: Value) => Value;

/**
 * Decoder with pre-norm blocks of attention and a SiLU feed-forward layer over [rows, tokens, width]. The caller's
 * `attend` determines how tokens attend to each other (whole sequences, or one token and a cache). In the last layer,
 * `keep` and `attend` drop tokens whose outputs are not needed.
 */
export function decoder(weights: TrunkWeights, embedded: Value, attend: Attend, keep = (x: Value) => x): Value {
	let x = embedded;
	weights.blocks.forEach((block, layer) => {
		const read = attend(layer, linear(rmsNorm(x, block.attentionNorm), block.qkv));
		if (layer === weights.blocks.length - 1) x = keep(x);
		x = add(x, linear(read, block.attentionOutput));
		x = add(x, linear(silu(linear(rmsNorm(x, block.feedForwardNorm), block.up)), block.down));
	});
	return x;
}

/**
 * Returns the logits of the next tokens, like `head` of `decoder`, with fewer operators. Not differentiable.
 * [rows, 1, width] to [rows, 1, vocabulary].
 */
export function fusedLogits(weights: ModelWeights, embedded: Value, attend: Attend): Value {
	const norms = weights.blocks.flatMap((block) => [block.attentionNorm, block.feedForwardNorm]).concat(weights.norm);
	let x = embedded;
	let normed = rmsNorm(x, norms[0] as Value);
	weights.blocks.forEach((block, layer) => {
		const read = linear(attend(layer, linear(normed, block.qkv)), block.attentionOutput);
		({ sum: x, normed } = addAndNorm(x, read, norms[2 * layer + 1] as Value, normEpsilon));
		const processed = linear(fusedSilu(linear(normed, block.up)), block.down);
		({ sum: x, normed } = addAndNorm(x, processed, norms[2 * layer + 2] as Value, normEpsilon));
	});
	return linear(normed, weights.head);
}

/** Returns next-token logits: [..., width] to [..., vocabulary]. */
export function head(weights: ModelWeights, x: Value): Value {
	return linear(rmsNorm(x, weights.norm), weights.head);
}

/** Returns the logit of the value after each token: [rows, tokens, width] to [rows, tokens]. */
export function valueHead(weights: ValueWeights, x: Value): Value {
	const scores = linear(rmsNorm(x, weights.norm), weights.value);
	return add(reduceSum(scores, [2], false), weights.bias);
}
