import { add, silu } from '../onnx/elementwise.ts';
import { addAndNorm, linearSilu } from '../onnx/fused.ts';
import type { Value } from '../onnx/graph.ts';
import { layerLinear, linear } from '../onnx/matmul.ts';
import { recomputed } from '../onnx/recomputed.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { normEpsilon, rmsNorm } from './rmsNorm.ts';
import type { BlockWeights, ModelWeights, TrunkWeights, ValueWeights } from './weights.ts';

/**
 * Maps a layer's queries, keys and values ([rows, tokens, 3 width]) to the attention output ([rows, tokens, width]).
 */
export type Attend = (layer: number, qkv: Value) => Value;

/**
 * Decoder with pre-norm blocks of attention and a SiLU feed-forward layer over [rows, tokens, width]. The caller's
 * `attend` determines how tokens attend to each other (whole sequences, or one token and a cache). In the last layer,
 * `keep` and `attend` drop tokens whose outputs are not needed.
 * @param recomputes whether gradients recompute each layer instead of keeping its values
 */
export function decoder(
	weights: TrunkWeights,
	embedded: Value,
	attend: Attend,
	{ keep = (x: Value) => x, recomputes = false } = {},
): Value {
	const last = weights.blocks.length - 1;
	return weights.blocks.reduce((x, block, layer) => {
		// The gradient starts with the last layer, so recomputing it would not save memory.
		if (recomputes && layer < last) {
			const names = Object.keys(block) as (keyof BlockWeights)[];
			const parameters = names.map((name) => block[name]);
			return recomputed(x, parameters, (again, given) => {
				const same = Object.fromEntries(names.map((name, i) => [name, given[i]])) as unknown as BlockWeights;
				return decoderBlock(same, again, (qkv) => attend(layer, qkv));
			});
		}
		return decoderBlock(block, x, (qkv) => attend(layer, qkv), layer === last ? keep : undefined);
	}, embedded);
}

function decoderBlock(
	block: BlockWeights,
	x: Value,
	attend: (qkv: Value) => Value,
	keep: (x: Value) => Value = (all) => all,
): Value {
	const read = attend(layerLinear(rmsNorm(x, block.attentionNorm), block.qkv));
	const attended = add(keep(x), layerLinear(read, block.attentionOutput));
	const processed = layerLinear(silu(layerLinear(rmsNorm(attended, block.feedForwardNorm), block.up)), block.down);
	return add(attended, processed);
}

/** Embeddings of a token and of its position, [rows, 1, width] each, whose sum is the input of the first layer. */
export interface EmbeddingParts {
	readonly token: Value;
	readonly position: Value;
}

/**
 * Returns the logits of the next tokens, like `head` of `decoder`, with fewer operators. Not differentiable.
 * @returns [rows, 1, vocabulary]
 * @param lastNorm replaces the weight of the last norm, [width]
 */
export function fusedLogits(
	weights: ModelWeights,
	{ token, position }: EmbeddingParts,
	attend: Attend,
	lastNorm = weights.norm,
): Value {
	const norms = weights.blocks.flatMap((block) => [block.attentionNorm, block.feedForwardNorm]).concat(lastNorm);
	let { sum: x, normed } = addAndNorm(token, position, norms[0] as Value, normEpsilon);
	weights.blocks.forEach((block, layer) => {
		const read = linear(attend(layer, linear(normed, block.qkv)), block.attentionOutput);
		({ sum: x, normed } = addAndNorm(x, read, norms[2 * layer + 1] as Value, normEpsilon));
		const processed = linear(linearSilu(normed, block.up), block.down);
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
