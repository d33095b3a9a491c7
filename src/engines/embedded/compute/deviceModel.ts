import type { LearnerState, OptimizerSettings } from '../learner.ts';
import type { MicroBatch } from './batching.ts';
import type { DeviceJob, GradientTarget, JobResults, WeightsRef } from './jobs.ts';
import { checkCount, checkNorm, checkState, type ModelMemory, settled, type TrainedModel } from './trainedModel.ts';
import type { WorkerPool } from './workerPool.ts';

type Vector = Float32Array<ArrayBuffer>;

/** A model whose weights, moments and gradients stay on the device of the pool's only worker (`DeviceModels`). */
class DeviceModel implements TrainedModel {
	readonly ref: WeightsRef;
	readonly count: number;
	readonly #pool: WorkerPool;
	#updates = 0;
	/** Whether the device has a gradient sum for the next update. */
	#sum = false;

	constructor(pool: WorkerPool, slot: WeightsRef['slot'], count: number) {
		this.#pool = pool;
		this.ref = { slot, version: 0, buffer: null };
		this.count = count;
	}

	async weights(): Promise<Float32Array> {
		return (await this.#run({ kind: 'load', slot: this.ref.slot, moments: false })).weights;
	}

	async setWeights(weights: Float32Array): Promise<void> {
		checkCount(weights, this.count);
		await this.#store(Float32Array.from(weights), null);
		this.#updates = 0;
	}

	async state(): Promise<LearnerState> {
		const { weights, first, second } = await this.#run({ kind: 'load', slot: this.ref.slot, moments: true });
		return { parameters: weights, firstMoments: first, secondMoments: second, updates: this.#updates };
	}

	async restore(state: LearnerState): Promise<void> {
		checkState(state, this.count);
		const [first, second] = [Float32Array.from(state.firstMoments), Float32Array.from(state.secondMoments)];
		await this.#store(Float32Array.from(state.parameters), { first, second });
		this.#updates = state.updates;
	}

	async resetOptimizer(): Promise<void> {
		await this.#run({ kind: 'reset', slot: this.ref.slot });
		this.#updates = 0;
	}

	/** The only worker runs jobs in the order given, so the gradients are summed in that order. */
	async accumulate<R>(
		batches: readonly MicroBatch[],
		compute: (batch: MicroBatch, gradient: GradientTarget) => Promise<R>,
		take: (result: R, batch: MicroBatch) => void,
	): Promise<void> {
		this.#sum = false;
		const results = await settled(batches.map((batch, i) => compute(batch, i === 0 ? 'first' : 'next')));
		for (const [i, result] of results.entries()) take(result, batches[i] as MicroBatch);
		this.#sum = batches.length > 0;
	}

	async step(settings: OptimizerSettings): Promise<number> {
		const update = this.#updates + 1;
		const { norm } = await this.#run({ kind: 'step', slot: this.ref.slot, settings, update, sum: this.#sum });
		this.#sum = false;
		checkNorm(norm);
		this.#updates = update;
		return norm;
	}

	async #store(weights: Vector, moments: { readonly first: Vector; readonly second: Vector } | null): Promise<void> {
		const transfer = [weights, ...(moments === null ? [] : [moments.first, moments.second])].map(
			({ buffer }) => buffer,
		);
		await this.#pool.run(() => ({ job: { kind: 'store', slot: this.ref.slot, weights, moments }, transfer }));
	}

	#run<J extends DeviceJob>(job: J): Promise<JobResults[J['kind']]> {
		return this.#pool.run(() => ({ job, transfer: [] }));
	}
}

/** Keeps models on the device of the pool's only worker. */
export class DeviceMemory implements ModelMemory {
	readonly #pool: WorkerPool;

	constructor(pool: WorkerPool) {
		this.#pool = pool;
	}

	async create(slot: WeightsRef['slot'], weights: Float32Array): Promise<TrainedModel> {
		const model = new DeviceModel(this.#pool, slot, weights.length);
		await model.setWeights(weights);
		return model;
	}

	async copy(model: TrainedModel, slot: WeightsRef['slot']): Promise<TrainedModel> {
		await this.#pool.run(() => ({ job: { kind: 'copy', from: model.ref.slot, to: slot }, transfer: [] }));
		return new DeviceModel(this.#pool, slot, model.count);
	}
}
