import { headNames } from '../../../protocol/control.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { ParameterSpec } from '../learner.ts';
import { countOf, elementCount, type ModelKind, specsOf } from '../model/parameters.ts';
import { residentName } from '../model/residentPrograms.ts';
import type { WeightsRef } from './jobs.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';

interface Slot {
	readonly flat: Float32Array;
	/** Views of `flat`. */
	readonly feeds: Feeds;
	/** Copies of the weights on the device, or null if there are none. */
	resident: Feeds | null;
	version: number;
}

export function modelOf(slot: WeightsRef['slot']): ModelKind {
	return headNames.some((head) => head === slot) ? 'value' : 'policy';
}

/** Compiles the program that copies parameters to the device (`uploadProgram`). */
export type MakeUpload = (model: ModelKind, specs: readonly ParameterSpec[]) => Promise<Session>;

/**
 * A worker's private copies of the weights, needed because the runtime does not accept shared memory. If a provider
 * keeps tensors on the device, programs read from copies on the device.
 */
export class ParameterStore {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #upload: MakeUpload | null;
	readonly #slots = new Map<WeightsRef['slot'], Slot>();

	/** @param upload null if programs read the weights from host memory */
	constructor(shape: ModelShape, tensors: Tensors, upload: MakeUpload | null = null) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#upload = upload;
	}

	/** Returns the weights as inputs by name. Copies them from shared memory if they have changed. */
	async feeds(ref: WeightsRef): Promise<Feeds> {
		const model = modelOf(ref.slot);
		let slot = this.#slots.get(ref.slot);
		if (slot === undefined) {
			const specs = specsOf(model, this.#shape);
			const flat = new Float32Array(countOf(specs));
			slot = { flat, feeds: parameterViews(specs, flat, this.#tensors), resident: null, version: -1 };
			this.#slots.set(ref.slot, slot);
		}
		if (slot.version !== ref.version) {
			slot.flat.set(new Float32Array(ref.buffer));
			if (this.#upload !== null) {
				const session = await this.#upload(model, specsOf(model, this.#shape));
				slot.resident = await uploaded(session, slot);
			}
			slot.version = ref.version;
		}
		return slot.resident ?? slot.feeds;
	}

	/** Frees the copies on the device. */
	release(): void {
		for (const { resident } of this.#slots.values()) {
			for (const tensor of Object.values(resident ?? {})) tensor.dispose();
		}
		this.#slots.clear();
	}
}

/**
 * Copies the weights to the device. The runtime allocates new tensors for every output, even if it is given existing
 * tensors to write to, so the old ones are freed.
 */
async function uploaded(session: Session, { feeds, resident }: Slot): Promise<Feeds> {
	const results = await session.run(feeds);
	for (const tensor of Object.values(resident ?? {})) tensor.dispose();
	return Object.fromEntries(Object.keys(feeds).map((name) => [name, results[residentName(name)] as Tensor]));
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
