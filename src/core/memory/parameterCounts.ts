import type { ModelShape } from './modelShape.ts';

/** Parameter counts by type. */
export interface ParameterCounts {
	/** Token and position embeddings. */
	readonly embedding: number;
	/** Number of parameters in the output matrix, or 0 if it is not separate. */
	readonly output: number;
	/** Matrices in all blocks. Only these get adapters or are quantized. */
	readonly matrices: number;
	/** Norms and biases. */
	readonly vectors: number;
	/** Parameters in the largest block. */
	readonly block: number;
	readonly total: number;
}

/** Returns the dimensions of each matrix in a block, including all experts. */
export function matricesOf(shape: ModelShape): (readonly [inputs: number, outputs: number])[] {
	const { width, heads, keyHeads, headWidth, feedForward, gated, experts } = shape;
	const queries = heads * headWidth;
	const keys = keyHeads * headWidth;
	const attention: [number, number][] = shape.fusedAttention
		? [[width, queries + 2 * keys]]
		: [
				[width, queries],
				[width, keys],
				[width, keys],
			];
	const up: [number, number][] = !gated
		? [[width, feedForward]]
		: shape.fusedFeedForward
			? [[width, 2 * feedForward]]
			: [
					[width, feedForward],
					[width, feedForward],
				];
	const inner: [number, number][] = [...up, [feedForward, width]];
	const router: [number, number][] = experts > 1 ? [[width, experts]] : [];
	return [...attention, [queries, width], ...router, ...Array.from({ length: experts }, () => inner).flat()];
}

export function countParameters(shape: ModelShape): ParameterCounts {
	const { layers, width, heads, keyHeads, headWidth, feedForward, vocabulary, tied, positions, biases } = shape;
	const matrices = matricesOf(shape).reduce((sum, [inputs, outputs]) => sum + inputs * outputs, 0);
	const one = shape.norm === 'layer' ? 2 * width : width;
	const attentionBias = (heads + 2 * keyHeads) * headWidth;
	const bias =
		biases === 'none' ? 0 : biases === 'attention' ? attentionBias : attentionBias + width + feedForward + width;
	const vectors = shape.norms * one + (shape.queryNorm ? 2 * headWidth : 0) + bias;
	const embedding = (vocabulary + positions) * width;
	const output = tied ? 0 : vocabulary * width;
	return {
		embedding,
		output,
		matrices: layers * matrices,
		vectors: layers * vectors + one,
		block: matrices + vectors,
		total: embedding + output + layers * (matrices + vectors) + one,
	};
}

/** Counts the parameters of rank-r adapters on every matrix in the blocks (Hu et al. 2021, section 4.1). */
export function countAdapters(shape: ModelShape, r: number): number {
	return shape.layers * matricesOf(shape).reduce((sum, [inputs, outputs]) => sum + r * (inputs + outputs), 0);
}
