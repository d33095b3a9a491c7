import type { OptimizerSettings } from '../learner.ts';
import type { ModelKind } from '../model/parameters.ts';
import { blockRanges, clipScale, type Range } from './adamW.ts';
import type { MicroBatch } from './batching.ts';
import type { AdamWJob, AddJob, Job, JobResults } from './jobs.ts';
import { checkNorm, settled } from './trainedModel.ts';
import type { WorkerPool } from './workerPool.ts';

type Shared = Float32Array<SharedArrayBuffer>;

/** Approximate memory limit for micro-batch gradients that are waiting to be summed. */
const slotBytes = 512 * 2 ** 20;

function shared(count: number): Shared {
	return new Float32Array(new SharedArrayBuffer(4 * count));
}

/**
 * AdamW on memory shared by all workers, each of which updates a range of the vectors. All operations are elementwise
 * except the norm, which is summed in fixed-size blocks, so the result does not depend on the number of workers.
 */
export class SharedOptimizer {
	readonly firstMoments: Shared;
	readonly secondMoments: Shared;
	/** Number of updates since the last reset. */
	updates = 0;
	readonly #pool: WorkerPool;
	readonly #count: number;
	readonly #model: ModelKind;
	readonly #gradient: Shared;
	#slots: SharedArrayBuffer[] = [];
	/** Squared gradient norm per block. */
	#squares: readonly number[] = [];

	constructor(pool: WorkerPool, model: ModelKind, count: number) {
		this.#pool = pool;
		this.#model = model;
		this.#count = count;
		this.firstMoments = shared(count);
		this.secondMoments = shared(count);
		this.#gradient = shared(count);
	}

	/** See `TrainedModel.accumulate`. */
	async accumulate<R>(
		batches: readonly MicroBatch[],
		compute: (batch: MicroBatch, gradient: SharedArrayBuffer) => Promise<R>,
		take: (result: R, batch: MicroBatch) => void,
	): Promise<void> {
		const room = Math.max(this.#pool.size, Math.floor(slotBytes / (4 * this.#count)));
		for (let start = 0; start === 0 || start < batches.length; start += room) {
			const wave = batches.slice(start, start + room);
			const results = await settled(wave.map((batch, index) => compute(batch, this.#slot(index))));
			for (const [index, result] of results.entries()) take(result, wave[index] as MicroBatch);
			await this.#add(wave.length, start === 0);
		}
	}

	/** Allocates the gradient of a micro-batch. */
	#slot(index: number): SharedArrayBuffer {
		this.#slots[index] ??= new SharedArrayBuffer(4 * this.#count);
		return this.#slots[index];
	}

	/** Adds the first `used` slots to the gradient, in order. `fresh` overwrites the gradient instead. */
	async #add(used: number, fresh: boolean): Promise<void> {
		const slots = this.#slots.slice(0, used);
		const parts = await this.#onRanges<AddJob>((range) => ({
			kind: 'add',
			total: this.#gradient.buffer,
			parts: slots,
			fresh,
			range,
		}));
		this.#squares = parts.flatMap(({ squares }) => [...squares]);
	}

	/** Updates `parameters` with the accumulated gradient. See `TrainedModel.step`. */
	async step(parameters: SharedArrayBuffer, settings: OptimizerSettings): Promise<number> {
		const norm = Math.sqrt(this.#squares.reduce((sum, part) => sum + part, 0));
		checkNorm(norm);
		this.updates++;
		await this.#onRanges<AdamWJob>((range) => ({
			kind: 'adamW',
			model: this.#model,
			parameters,
			gradient: this.#gradient.buffer,
			firstMoments: this.firstMoments.buffer,
			secondMoments: this.secondMoments.buffer,
			settings,
			update: this.updates,
			scale: clipScale(norm, settings.maxGradNorm),
			range,
		}));
		return norm;
	}

	reset(): void {
		this.firstMoments.fill(0);
		this.secondMoments.fill(0);
		this.updates = 0;
	}

	#onRanges<J extends Job>(job: (range: Range) => J): Promise<JobResults[J['kind']][]> {
		return Promise.all(
			blockRanges(this.#count, this.#pool.size).map((range) =>
				this.#pool.run(() => ({ job: job(range), transfer: [] })),
			),
		);
	}
}
