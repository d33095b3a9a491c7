import { add, silu } from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { linear } from '../onnx/matmul.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { rmsNorm } from './rmsNorm.ts';
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

/** Returns next-token logits: [..., width] to [..., vocabulary]. */
export function head(weights: ModelWeights, x: Value): Value {
	return linear(rmsNorm(x, weights.norm), weights.head);
}

/** Returns the logit of the value after each token: [rows, tokens, width] to [rows, tokens]. */
export function valueHead(weights: ValueWeights, x: Value): Value {
	const scores = linear(rmsNorm(x, weights.norm), weights.value);
	return add(reduceSum(scores, [2], false), weights.bias);
}
