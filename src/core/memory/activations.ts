import type { ModelShape } from './modelShape.ts';
import { matricesOf } from './parameterCounts.ts';

export type Attention = 'eager' | 'sdpa' | 'flash_attention_2';

/** Numeric settings for running a model. */
export interface Arithmetic {
	/** Bytes per number in matrix multiplications: 4 in float32, 2 in bfloat16 and float16 (autocast). */
	readonly compute: 2 | 4;
	readonly attention: Attention;
	/** Adapter rank, or 0 if all weights are trained. */
	readonly adapters: number;
	/** Whether the rows in a batch differ in length, in which case attention needs a mask. */
	readonly padded: boolean;
}

/**
 * Returns the number of bytes that one block stores per token between the forward and backward passes, for a sequence
 * of `length` tokens.
 *
 * Based on Korthikanti et al. (2022), section 4.1, adapted from Megatron to what PyTorch stores for Hugging Face
 * blocks: no dropout, gated feed-forward layers, grouped queries, float32 norms built from individual operators, and
 * autocast, which stores a copy of each matrix's input in the smaller type.
 */
export function blockActivations(shape: ModelShape, how: Arithmetic, length: number): number {
	const { width, heads, keyHeads, headWidth, feedForward } = shape;
	const { compute: c, attention, adapters, padded } = how;
	const autocast = c === 2;
	const trained = adapters === 0;
	const queries = heads * headWidth;
	const keys = keyHeads * headWidth;
	// The input in float32 (the residual stream itself if it is float32), and the value scaled by the norm's weight.
	const kept = shape.norm === 'layer' ? 4 * width + 8 : (trained ? 8 : 4) * width + 4;
	// Matrix inputs: one shared copy, or one copy each in the smaller type.
	const into = (matrices: number) => (autocast ? 2 * width * matrices : 4 * width);
	const inputs = into(shape.fusedAttention ? 1 : 3) + into(shape.gated && !shape.fusedFeedForward ? 2 : 1);
	const repeated = attention === 'eager' || (attention === 'sdpa' && padded) ? queries : keys;
	// Log-sum-exps (Dao 2023), or the probabilities themselves in float32 and in the smaller type.
	const scores = attention === 'eager' ? heads * length * (autocast ? 6 : 4) : 4 * heads;
	const mask = attention === 'sdpa' && padded ? c * length : 0;
	const read = c * queries * (autocast && !trained && attention !== 'eager' ? 2 : 1);
	const queryNorm = shape.queryNorm ? (4 + (trained ? c : 0)) * (queries + keys) + 4 * (heads + keyHeads) : 0;
	const inner = shape.keptInside * c * feedForward * shape.expertsPerToken;
	const routed = shape.experts > 1 ? c * width * shape.expertsPerToken + 4 * shape.experts : 0;
	const low = trained ? 0 : c * adapters * matricesOf({ ...shape, experts: 1 }).length;
	return (
		shape.norms * kept + inputs + c * (queries + 2 * repeated) + scores + mask + read + queryNorm + inner + routed + low
	);
}

/**
 * Returns the size in bytes of a token's residual stream, which is all that gradient checkpointing stores per block
 * (Chen et al. 2016).
 */
export function residualBytes(shape: ModelShape, how: Arithmetic): number {
	return shape.width * (how.adapters > 0 ? how.compute : 4);
}

/** Returns the size of a token's gradients in bytes during the backward pass through one block. */
export function backwardBytes(shape: ModelShape, how: Arithmetic): number {
	return 8 * shape.width + how.compute * (shape.gated ? 2 : 1) * shape.feedForward * shape.expertsPerToken;
}
