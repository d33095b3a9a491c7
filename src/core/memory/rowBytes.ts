/** Memory of the embedded engine's programs for one row. */

/** Dimensions that determine this memory. `context`: maximum number of tokens in a row. */
export interface RowShape {
	readonly context: number;
	readonly width: number;
	readonly heads: number;
	readonly layers: number;
	readonly feedForward: number;
}

/** Tensor size that every WebGPU device supports (maxStorageBufferBindingSize in the WebGPU default limits). */
export const safeTensorBytes = 128 << 20;

export const floatBytes = 4;

/** Maximum bytes kept for the gradient of one full-length row. If more are needed, layers are recomputed instead. */
const keptBytes = 1 << 30;

/**
 * Returns the number of equal groups into which attention splits its heads: the smallest number for which the scores of
 * one full-length row fit in `safeTensorBytes`, or one group per head if they never fit.
 */
export function headGroups({ heads, context }: RowShape): number {
	const most = safeTensorBytes / (floatBytes * context ** 2);
	let groups = 1;
	while (groups < heads && (heads % groups !== 0 || heads / groups > most)) groups++;
	return groups;
}

/** Returns the approximate size of the values that one layer's gradient needs for a row of `tokens`, in bytes. */
export function layerBytes({ width, feedForward, heads }: RowShape, tokens: number): number {
	// Copies of the hidden state, queries, keys and values; feed-forward layer, its sigmoid and their product;
	// attention weights.
	return floatBytes * tokens * (13 * width + 3 * feedForward + heads * tokens);
}

/** Returns whether gradients recompute each layer's values because a full-length row has too many to keep. */
export function recomputesLayers(shape: RowShape): boolean {
	return shape.layers * layerBytes(shape, shape.context) > keptBytes;
}

/** Returns the approximate number of bytes that a gradient keeps for a row of `tokens`. */
export function gradientBytes(shape: RowShape, tokens: number): number {
	const { layers, width } = shape;
	const layer = layerBytes(shape, tokens);
	return recomputesLayers(shape) ? floatBytes * layers * width * tokens + layer : layers * layer;
}

/** Returns the size of the key-value cache for a row of `tokens`, in bytes. */
export function cacheBytes({ layers, width }: RowShape, tokens: number): number {
	return 2 * floatBytes * layers * width * tokens;
}
