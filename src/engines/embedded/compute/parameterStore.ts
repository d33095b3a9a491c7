import { Failure } from '../../../base/failure.ts';
import { headNames } from '../../../protocol/control.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import { countOf, elementCount, type ModelKind, specsOf } from '../model/parameters.ts';
import type { WeightsRef } from './jobs.ts';
import type { Feeds, Tensor, Tensors } from './runtime.ts';

interface Slot {
	readonly flat: Float32Array;
	/** Views of `flat`. */
	readonly feeds: Feeds;
	version: number;
}

export function modelOf(slot: WeightsRef['slot']): ModelKind {
	return headNames.some((head) => head === slot) ? 'value' : 'policy';
}

/** Provides the weights of models as program inputs. */
export interface WeightSource {
	/** Returns the weights by name. Copies them from shared memory if they have changed. */
	feeds(ref: WeightsRef): Promise<Feeds>;
	release(): void;
}

/** A worker's private copies of the weights, needed because the runtime does not accept shared memory. */
export class ParameterStore implements WeightSource {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #slots = new Map<WeightsRef['slot'], Slot>();

	constructor(shape: ModelShape, tensors: Tensors) {
		this.#shape = shape;
		this.#tensors = tensors;
	}

	async feeds(ref: WeightsRef): Promise<Feeds> {
		if (ref.buffer === null) throw new Failure('internal', `The weights of the ${ref.slot} are not in shared memory.`);
		let slot = this.#slots.get(ref.slot);
		if (slot === undefined) {
			const specs = specsOf(modelOf(ref.slot), this.#shape);
			const flat = new Float32Array(countOf(specs));
			slot = { flat, feeds: parameterViews(specs, flat, this.#tensors), version: -1 };
			this.#slots.set(ref.slot, slot);
		}
		if (slot.version !== ref.version) {
			slot.flat.set(new Float32Array(ref.buffer));
			slot.version = ref.version;
		}
		return slot.feeds;
	}

	release(): void {
		this.#slots.clear();
	}
}

/** Creates named tensors as views into a flat vector. `rename` maps parameter names to input or output names. */
export function parameterViews(
	specs: readonly ParameterSpec[],
	flat: Float32Array,
	tensors: Tensors,
	rename: (name: string) => string = (name) => name,
): Feeds {
	const views: Record<string, Tensor> = {};
	let offset = 0;
	for (const spec of specs) {
		const end = offset + elementCount(spec.shape);
		views[rename(spec.name)] = tensors.float(flat.subarray(offset, end), spec.shape);
		offset = end;
	}
	return views;
}
