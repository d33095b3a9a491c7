import {
	cacheBytes as cacheBytesOf,
	floatBytes,
	gradientBytes as gradientBytesOf,
	headGroups,
	type RowShape,
	safeTensorBytes,
} from './rowBytes.ts';

/** Purpose of a micro-batch: sampling, or log-probabilities, values and gradients. */
export type BatchUse = 'sample' | 'train';

/** Memory limits for micro-batches with several rows, in bytes. A micro-batch with a single row can exceed them. */
export interface BatchLimits {
	/** Size of a tensor. */
	readonly tensorBytes: number;
	/** Size of the values kept for a gradient. */
	readonly gradientBytes: number;
	/** Size of the key-value cache. */
	readonly cacheBytes: number;
}

/** Independent of the machine, because micro-batch sizes affect rounding. */
export const cpuLimits: BatchLimits = { tensorBytes: Infinity, gradientBytes: 2 ** 31, cacheBytes: Infinity };

/** Minimum number of rows per micro-batch on a GPU. Calls with fewer rows take about as long. */
export const gpuRows: Readonly<Record<BatchUse, number>> = { sample: 256, train: 128 };

/** Fractions of a device's memory. Programs do not share their memory, and temporary values take up space too. */
const [tensorShare, gradientShare, cacheShare] = [1 / 16, 1 / 4, 1 / 16];
/** CUDA kernels count elements in 32 bits. */
const maxTensorBytes = 2 ** 31;
/** Cache size that fits on every GPU. */
const safeCacheBytes = 2 ** 30;

/**
 * Returns the limits on a GPU.
 * @param loops whether a single program samples whole completions, as on CUDA. CUDA keeps the whole cache but, unlike
 * other providers, has no tensor size limit of its own
 * @param bytes total memory of the GPU, or null if unknown
 */
export function gpuLimits(loops: boolean, bytes: number | null): BatchLimits {
	const gradientBytes = bytes === null ? Infinity : bytes * gradientShare;
	if (!loops) return { tensorBytes: safeTensorBytes, gradientBytes, cacheBytes: Infinity };
	return {
		tensorBytes: Math.max(safeTensorBytes, Math.min(maxTensorBytes, (bytes ?? 0) * tensorShare)),
		gradientBytes,
		cacheBytes: Math.max(safeCacheBytes, (bytes ?? 0) * cacheShare),
	};
}

/**
 * Returns the number of rows per micro-batch that the limits allow for sequences of up to `tokens` tokens: at least 1.
 * @param prompt maximum number of tokens that attend to each other in one program; for sampling, the prompt length
 */
export function fittingRows(
	use: BatchUse,
	shape: RowShape,
	limits: BatchLimits,
	{ tokens, prompt = tokens }: { readonly tokens: number; readonly prompt?: number },
): number {
	const { heads, width, feedForward } = shape;
	const scores = (heads / headGroups(shape)) * prompt ** 2;
	const states =
		use === 'sample' ? Math.max(width * tokens, feedForward * prompt) : tokens * Math.max(3 * width, feedForward);
	const kept =
		use === 'sample'
			? limits.cacheBytes / cacheBytesOf(shape, tokens)
			: limits.gradientBytes / gradientBytesOf(shape, tokens);
	return Math.max(1, Math.floor(Math.min(limits.tensorBytes / (floatBytes * Math.max(scores, states)), kept)));
}
