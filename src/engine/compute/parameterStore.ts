import type { ModelShape } from '../learner.ts';
import { elementCount, parameterCount, parameterSpecs } from '../model/parameters.ts';
import type { WeightsRef } from './jobs.ts';
import type { Feeds, Tensor, Tensors } from './runtime.ts';

interface Slot {
	readonly flat: Float32Array;
	readonly feeds: Feeds;
	version: number;
}

/** A worker's own copies of the weights: the runtime takes no shared memory. */
export class ParameterStore {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #slots = new Map<WeightsRef['slot'], Slot>();

	constructor(shape: ModelShape, tensors: Tensors) {
		this.#shape = shape;
		this.#tensors = tensors;
	}

	/** The weights as inputs by name, copied from shared memory if they have changed. */
	feeds(ref: WeightsRef): Feeds {
		let slot = this.#slots.get(ref.slot);
		if (slot === undefined) {
			const flat = new Float32Array(parameterCount(this.#shape));
			slot = { flat, feeds: parameterViews(this.#shape, flat, this.#tensors), version: -1 };
			this.#slots.set(ref.slot, slot);
		}
		if (slot.version !== ref.version) {
			slot.flat.set(new Float32Array(ref.buffer));
			slot.version = ref.version;
		}
		return slot.feeds;
	}
}

/** Tensors by name over the pieces of a flat vector; `rename` gives the inputs' or outputs' names. */
export function parameterViews(
	shape: ModelShape,
	flat: Float32Array,
	tensors: Tensors,
	rename: (name: string) => string = (name) => name,
): Feeds {
	const views: Record<string, Tensor> = {};
	let offset = 0;
	for (const spec of parameterSpecs(shape)) {
		const end = offset + elementCount(spec.shape);
		views[rename(spec.name)] = tensors.float(flat.subarray(offset, end), spec.shape);
		offset = end;
	}
	return views;
}
