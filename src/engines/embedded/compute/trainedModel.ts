import { Failure } from '../../../base/failure.ts';
import type { LearnerState, OptimizerSettings } from '../learner.ts';
import type { MicroBatch } from './batching.ts';
import type { GradientTarget, WeightsRef } from './jobs.ts';

/** A model whose weights are stored once, in shared memory or on a device, with an optimizer if it is trained. */
export interface TrainedModel {
	/** Location of the weights for jobs. */
	readonly ref: WeightsRef;
	/** Number of parameters. */
	readonly count: number;
	/** Returns a copy. */
	weights(): Promise<Float32Array>;
	/** Replaces the weights and resets the optimizer. */
	setWeights(weights: Float32Array): Promise<void>;
	/** Returns copies of the weights and the optimizer's moments. */
	state(): Promise<LearnerState>;
	/** Throws `mismatch` if a vector has a different length. */
	restore(state: LearnerState): Promise<void>;
	resetOptimizer(): Promise<void>;
	/**
	 * Accumulates the gradient for an update. Micro-batch gradients are summed in order, regardless of which finishes
	 * first, because floating-point sums depend on the order. Without micro-batches, the gradient is zero.
	 * @param compute passes a micro-batch gradient to the given target
	 * @param take receives the results in micro-batch order
	 */
	accumulate<R>(
		batches: readonly MicroBatch[],
		compute: (batch: MicroBatch, gradient: GradientTarget) => Promise<R>,
		take: (result: R, batch: MicroBatch) => void,
	): Promise<void>;
	/**
	 * Updates the weights with the accumulated gradient. Returns the global gradient norm before clipping. If the norm is
	 * not finite, throws `invalid` without changing anything, because weights that become NaN never recover.
	 */
	step(settings: OptimizerSettings): Promise<number>;
}

/** Creates models in shared memory or on a device. */
export interface ModelMemory {
	create(slot: WeightsRef['slot'], weights: Float32Array): Promise<TrainedModel>;
	/** Returns a model with the weights of another one created here. */
	copy(model: TrainedModel, slot: WeightsRef['slot']): Promise<TrainedModel>;
}

/**
 * Like `Promise.all`, but on failure waits for all other promises first, because their output memory must not be reused
 * until they settle.
 */
export async function settled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
	await Promise.allSettled(promises);
	return Promise.all(promises);
}

/** Throws `mismatch` unless a state has the given number of parameters. */
export function checkState({ parameters, firstMoments, secondMoments }: LearnerState, count: number): void {
	for (const vector of [parameters, firstMoments, secondMoments]) checkCount(vector, count);
}

/** Throws `mismatch` unless a vector has one element per parameter. */
export function checkCount(vector: Float32Array, count: number): void {
	if (vector.length === count) return;
	throw new Failure('mismatch', `The model has ${count} parameters, but ${vector.length} values were given.`);
}

/** Throws `invalid` if a gradient norm is not finite. */
export function checkNorm(norm: number): void {
	if (Number.isFinite(norm)) return;
	throw new Failure(
		'invalid',
		'Training diverged: the gradient is not finite. The weights from before the update are kept.',
		'Reduce learning_rate or max_grad_norm, then start a new run from a checkpoint.',
	);
}
