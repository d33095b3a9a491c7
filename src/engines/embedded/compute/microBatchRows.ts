import { Failure } from '../../../base/failure.ts';
import { formatBytes, formatCounted } from '../../../base/format.ts';
import { type BatchLimits, type BatchUse, fittingRows } from '../../../core/memory/microBatchLimits.ts';
import { cacheBytes, gradientBytes } from '../../../core/memory/rowBytes.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { Sequence } from '../learner.ts';

/** Returns the number of rows and the length of the longest one. */
export const sizesOf = (rows: readonly Sequence[]) => ({
	count: rows.length,
	tokens: rows.reduce((n, { tokens }) => Math.max(n, tokens.length), 1),
});

const lowered = (sentence = '') => sentence.charAt(0).toLowerCase() + sentence.slice(1);

/** Number of rows per micro-batch, which shrinks when GPU memory is full. */
export class MicroBatchRows {
	readonly #shape: ModelShape;
	readonly #limits: BatchLimits;
	readonly #most: Record<BatchUse, number>;
	readonly #onFewer: (use: BatchUse, rows: number) => void;
	readonly #isStuck: (failure: Failure) => boolean;

	/**
	 * @param onFewer called with the new number when it shrinks
	 * @param isStuck whether memory stays full even with fewer rows
	 */
	constructor(
		shape: ModelShape,
		most: Readonly<Record<BatchUse, number>>,
		limits: BatchLimits,
		onFewer: (use: BatchUse, rows: number) => void = () => undefined,
		isStuck: (failure: Failure) => boolean = () => false,
	) {
		this.#shape = shape;
		this.#most = { ...most };
		this.#limits = limits;
		this.#onFewer = onFewer;
		this.#isStuck = isStuck;
	}

	/**
	 * Returns the number of rows for sequences of up to `tokens` tokens.
	 * @param prompt maximum number of tokens that attend to each other in one program; for sampling, the length of the prompt
	 */
	size(use: BatchUse, tokens: number, prompt = tokens): number {
		return Math.min(this.#most[use], fittingRows(use, this.#shape, this.#limits, { tokens, prompt }));
	}

	/**
	 * Runs an operation, and retries with half as many rows whenever device memory is full, if that can help. The operation
	 * must not have changed anything if it fails.
	 * @param count number of rows in the operation
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
				this.#onFewer(use, this.#most[use]);
				if (this.#isStuck(error)) throw this.#untilResumed(error, use, used, tokens);
			}
		}
	}

	/**
	 * Runs an operation that follows micro-batches, such as an optimizer update. If memory is full, the next attempt uses
	 * fewer rows, because the runtime keeps the memory that micro-batches allocated.
	 */
	async afterwards<T>(
		use: BatchUse,
		sizes: { readonly count: number; readonly tokens: number },
		run: () => Promise<T>,
	) {
		try {
			return await run();
		} catch (error) {
			const used = Math.min(this.size(use, sizes.tokens), sizes.count);
			if (!(error instanceof Failure) || error.reason !== 'full' || !this.#isStuck(error) || used <= 1) throw error;
			this.#most[use] = Math.ceil(used / 2);
			this.#onFewer(use, this.#most[use]);
			throw this.#untilResumed(error, use, used, sizes.tokens);
		}
	}

	/** Returns the error that ends this attempt. */
	#untilResumed(cause: Failure, use: BatchUse, used: number, tokens: number): Failure {
		const rows = (count: number) => formatCounted(count, 'row', 'rows');
		const message = `${cause.message.replace(/\.$/, '')}, with micro-batches of ${rows(used)} of up to ${formatCounted(tokens, 'token')}.`;
		const action = `Resume the run to continue from its last checkpoint with at most ${rows(this.#most[use])}. If that is not enough: ${lowered(cause.action)}`;
		return new Failure('full', message, action, { cause });
	}

	/** Returns the error for a single row that does not fit, with its size. */
	#withSize(cause: Failure, use: BatchUse, tokens: number): Failure {
		const bytes = (use === 'sample' ? cacheBytes : gradientBytes)(this.#shape, tokens);
		const what = use === 'sample' ? 'the key-value cache' : 'a gradient';
		const size = `${what} for one row of ${formatCounted(tokens, 'token')} takes about ${formatBytes(bytes)}`;
		const message = cause.message.replace(/\.$/, '');
		return new Failure('full', `${message}; ${size}, in addition to the weights.`, cause.action, { cause });
	}
}
