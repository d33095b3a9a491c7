import type { LearnerState, OptimizerSettings } from '../learner.ts';
import type { MicroBatch } from './batching.ts';
import type { GradientTarget, WeightsRef } from './jobs.ts';
import { modelOf } from './parameterStore.ts';
import { SharedOptimizer } from './sharedOptimizer.ts';
import { SharedWeights } from './sharedWeights.ts';
import { checkCount, checkState, type ModelMemory, type TrainedModel } from './trainedModel.ts';
import type { WorkerPool } from './workerPool.ts';

/** A model in memory that all workers share. */
class HostModel implements TrainedModel {
	readonly count: number;
	readonly #arithmetic: WorkerPool;
	readonly #shared: SharedWeights;
	/** Created when needed, because it has three more vectors of the same length as the weights. */
	#optimizer: SharedOptimizer | null = null;

	constructor(arithmetic: WorkerPool, slot: WeightsRef['slot'], weights: Float32Array) {
		this.#arithmetic = arithmetic;
		this.#shared = new SharedWeights(slot, weights);
		this.count = weights.length;
	}

	get ref(): WeightsRef {
		return this.#shared.ref;
	}

	/** Not a copy. */
	get flat(): Float32Array {
		return this.#shared.flat;
	}

	async weights(): Promise<Float32Array> {
		return Float32Array.from(this.#shared.flat);
	}

	async setWeights(weights: Float32Array): Promise<void> {
		checkCount(weights, this.count);
		this.#shared.flat.set(weights);
		this.#shared.changed();
		this.#optimizer?.reset();
	}

	async state(): Promise<LearnerState> {
		const { firstMoments, secondMoments, updates } = this.#trained();
		return {
			parameters: Float32Array.from(this.#shared.flat),
			firstMoments: new Float32Array(firstMoments),
			secondMoments: new Float32Array(secondMoments),
			updates,
		};
	}

	async restore(state: LearnerState): Promise<void> {
		checkState(state, this.count);
		const optimizer = this.#trained();
		this.#shared.flat.set(state.parameters);
		this.#shared.changed();
		optimizer.firstMoments.set(state.firstMoments);
		optimizer.secondMoments.set(state.secondMoments);
		optimizer.updates = state.updates;
	}

	async resetOptimizer(): Promise<void> {
		this.#optimizer?.reset();
	}

	accumulate<R>(
		batches: readonly MicroBatch[],
		compute: (batch: MicroBatch, gradient: GradientTarget) => Promise<R>,
		take: (result: R, batch: MicroBatch) => void,
	): Promise<void> {
		return this.#trained().accumulate(batches, compute, take);
	}

	async step(settings: OptimizerSettings): Promise<number> {
		const norm = await this.#trained().step(this.#shared.flat.buffer, settings);
		this.#shared.changed();
		return norm;
	}

	#trained(): SharedOptimizer {
		this.#optimizer ??= new SharedOptimizer(this.#arithmetic, modelOf(this.ref.slot), this.count);
		return this.#optimizer;
	}
}

/** Keeps models in memory that all workers share. */
export class HostMemory implements ModelMemory {
	readonly #arithmetic: WorkerPool;

	/** @param arithmetic workers that update weights */
	constructor(arithmetic: WorkerPool) {
		this.#arithmetic = arithmetic;
	}

	async create(slot: WeightsRef['slot'], weights: Float32Array): Promise<TrainedModel> {
		return new HostModel(this.#arithmetic, slot, weights);
	}

	async copy(model: TrainedModel, slot: WeightsRef['slot']): Promise<TrainedModel> {
		return new HostModel(this.#arithmetic, slot, (model as HostModel).flat);
	}
}
