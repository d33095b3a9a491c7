import type { ModelShape } from '../../shared/modelShape.ts';
import { residentName } from '../model/residentName.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';
import { partNames } from './sampler.ts';

/**
 * The number of slots grows to a multiple of this number, and by at least half. Growing requires a copy of the cache, but
 * unused slots slow down every step.
 */
const slotStep = 32;
const growth = 1.5;

/**
 * Key-value cache on the device. The runtime allocates new tensors for every output, so each step replaces the cache.
 */
export class DeviceCache {
	readonly #shape: ModelShape;
	readonly #tensors: Tensors;
	readonly #layout: Session;
	readonly #names: readonly string[];
	#feeds: Feeds;
	#slots: number;

	/**
	 * @param layout see `cacheLayoutProgram`
	 * @param prefilled results of the prefill program, and the number of slots in them
	 */
	constructor(
		shape: ModelShape,
		tensors: Tensors,
		layout: Session,
		prefilled: { readonly tensors: Feeds; readonly slots: number },
	) {
		this.#shape = shape;
		this.#tensors = tensors;
		this.#layout = layout;
		this.#names = partNames(shape);
		this.#feeds = Object.fromEntries(this.#names.map((name) => [name, prefilled.tensors[name] as Tensor]));
		this.#slots = prefilled.slots;
	}

	get slots(): number {
		return this.#slots;
	}

	get feeds(): Feeds {
		return this.#feeds;
	}

	/** Returns the `slots` input for decode programs. */
	slotNumbers(): Tensor {
		const numbers = Int32Array.from({ length: this.#slots }, (_, slot) => slot);
		return this.#tensors.int32(numbers, [this.#slots]);
	}

	/** Takes the new cache from a program's results. */
	replace(results: Feeds, slots = this.#slots): void {
		this.dispose();
		this.#feeds = Object.fromEntries(this.#names.map((name) => [name, results[residentName(name)] as Tensor]));
		this.#slots = slots;
	}

	/**
	 * Rearranges the rows, and makes room for at least `needed` slots.
	 * @param source old row of each new row
	 */
	async arrange(source: Int32Array, needed: number): Promise<void> {
		const slots = needed > this.#slots ? this.#slotsFor(needed) : this.#slots;
		const pads = BigInt64Array.of(0n, 0n, 0n, 0n, 0n, 0n, BigInt(slots - this.#slots), 0n);
		const results = await this.#layout.run({
			...this.#feeds,
			source: this.#tensors.int32(source, [source.length]),
			pads: this.#tensors.int64(pads, [8]),
		});
		this.replace(results, slots);
	}

	#slotsFor(needed: number): number {
		const more = Math.max(needed, Math.ceil(this.#slots * growth));
		return Math.min(this.#shape.context, Math.ceil(more / slotStep) * slotStep);
	}

	dispose(): void {
		for (const tensor of Object.values(this.#feeds)) tensor.dispose();
		this.#feeds = {};
	}
}
