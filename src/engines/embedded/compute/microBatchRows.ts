import { Failure } from '../../../base/failure.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { Sequence } from '../learner.ts';
import { floatBytes, gradientBytes, headGroups } from '../model/activations.ts';

/** Purpose of a micro-batch: sampling, or log-probabilities, values and gradients. */
export type BatchUse = 'sample' | 'train';

/** Maximum size of the values that the gradient of a micro-batch with several rows keeps on the CPU, in bytes. */
const gradientBytesOnCpu = 2 ** 31;

/** Returns the number of rows and the length of the longest one. */
export const sizesOf = (rows: readonly Sequence[]) => ({
	count: rows.length,
	tokens: rows.reduce((n, { tokens }) => Math.max(n, tokens.length), 1),
});

/**
 * Number of rows per micro-batch, which shrinks when the memory of a GPU is full. The largest tensor of a micro-batch has
 * at most `tensorBytes`, if a single row allows it. On the CPU, the values that a gradient keeps are limited in the same
 * way, but independently of the machine, because the sizes of micro-batches determine rounding.
 */
export class MicroBatchRows {
	readonly #shape: ModelShape;
	readonly #tensorBytes: number;
	readonly #most: Record<BatchUse, number>;
	readonly #onFewer: (rows: number) => void;

	/**
	 * @param tensorBytes infinite on the CPU, where micro-batches are small
	 * @param onFewer called with the new number when it shrinks
	 */
	constructor(
		shape: ModelShape,
		most: Readonly<Record<BatchUse, number>>,
		tensorBytes: number,
		onFewer: (rows: number) => void = () => undefined,
	) {
		this.#shape = shape;
		this.#most = { ...most };
		this.#tensorBytes = tensorBytes;
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
		const fitting =
			this.#tensorBytes < Infinity
				? Math.floor(this.#tensorBytes / (floatBytes * Math.max(scores, states)))
				: use === 'train'
					? Math.floor(gradientBytesOnCpu / gradientBytes(this.#shape, tokens))
					: Infinity;
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
				if (!(error instanceof Failure) || error.reason !== 'full' || used <= 1) throw error;
				this.#most[use] = Math.ceil(used / 2);
				this.#onFewer(this.#most[use]);
			}
		}
	}
}
