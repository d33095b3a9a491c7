import { type Deferred, deferred } from '../../../../base/async.ts';
import { Failure } from '../../../../base/failure.ts';
import type { Progress } from '../../../shared/progress.ts';
import { Stopwatch } from '../../../shared/stopwatch.ts';
import { type GenerationBatch, sampleBatch } from '../generationBatch.ts';
import type { SamplingStage } from '../rollout.ts';
import type { SamplingHost, StageHost } from '../stageHost.ts';
import type { BatchOrder } from './batchOrder.ts';

/** A batch sampled concurrently with training. */
export interface BatchAhead {
	readonly batch: GenerationBatch;
	readonly order: BatchOrder;
	/** Sampling time in seconds. Training did not necessarily wait for it. */
	readonly generateSeconds: number;
}

/** A sampled batch, and the counters after it. */
interface Outcome extends Omit<BatchAhead, 'order'> {
	readonly cursor: number;
	readonly generations: number;
	readonly tokens: number;
	readonly curriculum: Progress['curriculum'];
}

interface Pending {
	readonly order: BatchOrder;
	readonly stage: SamplingStage;
	outcome: Deferred<Outcome>;
	/** Counter values after this batch; set once it has been sampled. */
	after: Outcome | null;
	failed: boolean;
}

/** Parts of a run needed for sampling ahead. */
export type AheadHost = Pick<StageHost, 'parts' | 'progress' | 'interrupt' | 'noteOutput' | 'noteFailures'>;

/**
 * Generation batches sampled while training on earlier ones, in order. The weights for a batch are chosen when it is
 * ordered, so results do not depend on the speed of sampling and training. The run's counters change only when a batch
 * is taken: a checkpoint between two batches contains the orders, and a resumed run samples those batches again.
 */
export class BatchesAhead {
	#pending: Pending[] = [];
	#restored: readonly BatchOrder[];
	#sampling = false;
	#closed = false;

	/** @param restored orders in the checkpoint from which the run continues */
	constructor(restored: readonly BatchOrder[] = []) {
		this.#restored = restored;
	}

	/** Number of batches that were ordered but not taken. */
	get size(): number {
		return this.#pending.length;
	}

	/** Orders of the batches that were not taken. */
	get orders(): BatchOrder[] {
		return this.#pending.map(({ order }) => order);
	}

	/**
	 * Adds the checkpoint's orders, but only if they belong to this stage: a run can continue from a checkpoint with a
	 * different recipe.
	 * @param max maximum number of batches to sample ahead
	 */
	restore(host: AheadHost, stage: SamplingStage, max: number): void {
		const orders = this.#restored;
		this.#restored = [];
		if (orders.length > max || orders[0]?.firstStep !== host.progress.step + 1) return;
		for (const order of orders) this.add(host, stage, order);
	}

	/** Adds a batch, to be sampled after the earlier ones. */
	add(host: AheadHost, stage: SamplingStage, order: BatchOrder): void {
		const { temperature } = order;
		const outcome = newOutcome();
		this.#pending.push({ order, stage: { ...stage, temperature }, outcome, after: null, failed: false });
		void this.#sample(host);
	}

	/**
	 * Returns the next batch, and advances the run's counters past it. Waits until it has been sampled.
	 * @throws the error from sampling (see `sampleBatch`). The batch then remains the next one and is sampled again.
	 */
	async take(host: AheadHost): Promise<BatchAhead> {
		const head = this.#pending[0];
		if (head === undefined) throw new Failure('internal', 'No generation batch was ordered.');
		if (head.failed) {
			head.failed = false;
			head.outcome = newOutcome();
			void this.#sample(host);
		}
		const outcome = await head.outcome.promise;
		this.#pending.shift();
		const { progress, parts } = host;
		parts.feed.cursor = outcome.cursor;
		progress.generations = outcome.generations;
		progress.tokens = outcome.tokens;
		progress.curriculum = outcome.curriculum;
		const { batch, generateSeconds } = outcome;
		return { batch, order: head.order, generateSeconds };
	}

	/** Drops all batches that were not taken. Ignores the result of sampling in progress. */
	clear(): void {
		this.#pending = [];
	}

	/** Stops sampling batches. */
	close(): void {
		this.#closed = true;
		this.clear();
	}

	/** Samples the batches that have not been sampled, one after another, until one fails. */
	async #sample(host: AheadHost): Promise<void> {
		if (this.#sampling) return;
		this.#sampling = true;
		try {
			for (;;) {
				const next = this.#pending.find(({ after }) => after === null);
				if (next === undefined || next.failed || this.#closed) return;
				const before = this.#pending[this.#pending.indexOf(next) - 1]?.after ?? null;
				try {
					next.after = await sampled(host, next, before);
					next.outcome.resolve(next.after);
				} catch (error) {
					next.failed = true;
					next.outcome.reject(error);
				}
			}
		} finally {
			this.#sampling = false;
		}
	}
}

/** Returns an outcome whose error is only thrown when the batch is taken. */
function newOutcome(): Deferred<Outcome> {
	const outcome = deferred<Outcome>();
	outcome.promise.catch(() => undefined);
	return outcome;
}

/**
 * Samples and scores one batch with its own counters. @param before the preceding batch; null if this is the next one
 * that the run takes
 */
async function sampled(host: AheadHost, { order, stage }: Pending, before: Outcome | null): Promise<Outcome> {
	const { learner } = host.parts;
	const feed = host.parts.feed.copy();
	if (before !== null) feed.cursor = before.cursor;
	const { generations, tokens, curriculum } = before ?? host.progress;
	const own: SamplingHost = {
		parts: { ...host.parts, feed },
		progress: { step: order.firstStep - 1, generations, tokens, curriculum },
		watch: new Stopwatch(),
		interrupt: host.interrupt,
		sample: (request) => learner.sample({ ...request, of: 'sampler' }),
		noteOutput: (reward, lines) => host.noteOutput(reward, lines),
		noteFailures: (failures) => host.noteFailures(failures),
	};
	await learner.setSampler(order.weights);
	const batch = await sampleBatch(own, stage);
	return {
		batch,
		generateSeconds: own.watch.seconds('generate'),
		cursor: feed.cursor,
		generations: own.progress.generations,
		tokens: own.progress.tokens,
		curriculum: own.progress.curriculum,
	};
}
