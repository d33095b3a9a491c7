import { Failure } from '../../../base/failure.ts';
import { formatBytes, formatCounted } from '../../../base/format.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { Sequence } from '../learner.ts';
import {
	cacheBytes as cacheBytesOf,
	floatBytes,
	gradientBytes as gradientBytesOf,
	headGroups,
	safeTensorBytes,
} from '../model/activations.ts';
import { loopProviders, type ProviderName } from './providers.ts';

/** Purpose of a micro-batch: sampling, or log-probabilities, values and gradients. */
export type BatchUse = 'sample' | 'train';

/** Memory limits for micro-batches with several rows, in bytes. A micro-batch with a single row can exceed them. */
export interface BatchLimits {
	/** Size of a tensor. */
	readonly tensorBytes: number;
	/** Size of the values that a gradient keeps. */
	readonly gradientBytes: number;
	/** Size of the key-value cache. */
	readonly cacheBytes: number;
}

/** Independent of the machine, because the sizes of micro-batches determine rounding. */
export const cpuLimits: BatchLimits = { tensorBytes: Infinity, gradientBytes: 2 ** 31, cacheBytes: Infinity };

/** Fractions of a device's memory. Programs do not share their memory, and temporary values need some as well. */
const [tensorShare, gradientShare, cacheShare] = [1 / 16, 1 / 4, 1 / 16];
/** CUDA kernels count elements in 32 bits. */
const maxTensorBytes = 2 ** 31;
/** Size of the cache that every GPU has room for. */
const safeCacheBytes = 2 ** 30;

/**
 * Returns the limits on a GPU.
 * @param bytes its total memory, or null if unknown
 */
export function gpuLimits(provider: ProviderName, bytes: number | null): BatchLimits {
	const gradientBytes = bytes === null ? Infinity : bytes * gradientShare;
	// Only CUDA has no limit of its own for the size of a tensor. It also keeps the whole cache for a single run.
	if (!loopProviders.includes(provider)) return { tensorBytes: safeTensorBytes, gradientBytes, cacheBytes: Infinity };
	return {
		tensorBytes: Math.max(safeTensorBytes, Math.min(maxTensorBytes, (bytes ?? 0) * tensorShare)),
		gradientBytes,
		cacheBytes: Math.max(safeCacheBytes, (bytes ?? 0) * cacheShare),
	};
}

/** Returns the number of rows and the length of the longest one. */
export const sizesOf = (rows: readonly Sequence[]) => ({
	count: rows.length,
	tokens: rows.reduce((n, { tokens }) => Math.max(n, tokens.length), 1),
});

/** Number of rows per micro-batch, which shrinks when the memory of a GPU is full. */
export class MicroBatchRows {
	readonly #shape: ModelShape;
	readonly #limits: BatchLimits;
	readonly #most: Record<BatchUse, number>;
	readonly #onFewer: (rows: number) => void;

	/** @param onFewer called with the new number when it shrinks */
	constructor(
		shape: ModelShape,
		most: Readonly<Record<BatchUse, number>>,
		limits: BatchLimits,
		onFewer: (rows: number) => void = () => undefined,
	) {
		this.#shape = shape;
		this.#most = { ...most };
		this.#limits = limits;
		this.#onFewer = onFewer;
	}

	/**
	 * Returns the number of rows for sequences of up to `tokens` tokens.
	 * @param prompt maximum number of tokens that attend to each other in one program; for sampling, the length of the prompt
	 */
	size(use: BatchUse, tokens: number, prompt = tokens): number {
		const { heads, width, feedForward } = this.#shape;
		const scores = (heads / headGroups(this.#shape)) * prompt ** 2;
		const states =
			use === 'sample' ? Math.max(width * tokens, feedForward * prompt) : tokens * Math.max(3 * width, feedForward);
		const { tensorBytes, gradientBytes, cacheBytes } = this.#limits;
		const kept =
			use === 'sample'
				? cacheBytes / cacheBytesOf(this.#shape, tokens)
				: gradientBytes / gradientBytesOf(this.#shape, tokens);
		const fitting = Math.floor(Math.min(tensorBytes / (floatBytes * Math.max(scores, states)), kept));
		return Math.max(1, Math.min(this.#most[use], fitting));
	}

	/**
	 * Runs an operation, and retries with half as many rows whenever device memory is full. The operation must not
	 * have changed anything if it fails.
	 * @param count number of rows of the operation
	 * @param run receives the number of rows per micro-batch
	 */
	async fitting<T>(
		use: BatchUse,
		{ count, tokens, prompt }: { readonly count: number; readonly tokens: number; readonly prompt?: number },
		run: (size: number) => Promise<T>,
	): Promise<T> {
		for (;;) {
			const size = this.size(use, tokens, prompt);
			try {
				return await run(size);
			} catch (error) {
				const used = Math.min(size, count);
				if (!(error instanceof Failure) || error.reason !== 'full') throw error;
				if (used <= 1) throw this.#withSize(error, use, tokens);
				this.#most[use] = Math.ceil(used / 2);
				this.#onFewer(this.#most[use]);
			}
		}
	}

	/** Returns the error for a single row that does not fit, with its size. */
	#withSize(cause: Failure, use: BatchUse, tokens: number): Failure {
		const bytes = (use === 'sample' ? cacheBytesOf : gradientBytesOf)(this.#shape, tokens);
		const what = use === 'sample' ? 'the key-value cache' : 'a gradient';
		const size = `${what} for one row of ${formatCounted(tokens, 'token')} takes about ${formatBytes(bytes)}`;
		const message = cause.message.replace(/\.$/, '');
		return new Failure('full', `${message}; ${size}, in addition to the weights.`, cause.action, { cause });
	}
}
