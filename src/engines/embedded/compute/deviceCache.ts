import type { ModelShape } from '../../shared/modelShape.ts';
import { masked } from '../model/attention.ts';
import { residentName } from '../model/residentName.ts';
import type { Feeds, Session, Tensor, Tensors } from './runtime.ts';
import { partNames } from './sampler.ts';

/** Result of the prefill program. */
export interface PrefilledCache {
	readonly tensors: Feeds;
	/** Number of tokens in the longest prompt. */
	readonly slots: number;
}

/**
 * Key-value cache on the device, with its mask. Every step appends a slot. The runtime allocates new tensors for every
 * output, so each step replaces the cache.
 */
export class DeviceCache {
	readonly #tensors: Tensors;
	readonly #layout: Session;
	readonly #names: readonly string[];
	readonly #prompt: number;
	#parts: Feeds;
	#mask: Tensor | null = null;
	#slots: number;
	#room = 0;

	/** @param layout see `cacheLayoutProgram` */
	constructor(shape: ModelShape, tensors: Tensors, layout: Session, prefilled: PrefilledCache) {
		this.#tensors = tensors;
		this.#layout = layout;
		this.#names = partNames(shape);
		this.#parts = Object.fromEntries(this.#names.map((name) => [name, prefilled.tensors[name] as Tensor]));
		this.#prompt = prefilled.slots;
		this.#slots = prefilled.slots;
	}

	/** Whether the mask has no column for another slot, so the cache must be rearranged before the next step. */
	get full(): boolean {
		return this.#slots >= this.#room;
	}

	/** Returns the cache inputs of the next decode step. */
	get feeds(): Feeds {
		const after = this.#tensors.int64(BigInt64Array.of(BigInt(this.#slots + 1)), [1]);
		return { ...this.#parts, mask: this.#mask as Tensor, after };
	}

	/** Takes the new cache, which has one more slot, from the results of a decode step. */
	append(results: Feeds): void {
		this.#replace(results);
		this.#slots++;
	}

	/**
	 * Rearranges the rows, and makes room for more slots.
	 * @param source old row of each new row
	 * @param lengths number of tokens in the prompt of each new row
	 */
	async arrange(source: Int32Array, lengths: Int32Array, more: number): Promise<void> {
		const room = this.#slots + more;
		const results = await this.#layout.run({
			...this.#parts,
			source: this.#tensors.int32(source, [source.length]),
			lengths: this.#tensors.int32(lengths, [lengths.length, 1]),
			numbers: this.#tensors.int32(
				Int32Array.from({ length: room }, (_, slot) => slot),
				[room],
			),
			gap: this.#tensors.float(
				Float32Array.from({ length: room }, (_, slot) => (slot < this.#prompt ? masked : 0)),
				[room],
			),
		});
		this.#replace(results);
		this.#mask?.dispose();
		this.#mask = results[residentName('mask')] as Tensor;
		this.#room = room;
	}

	#replace(results: Feeds): void {
		for (const tensor of Object.values(this.#parts)) tensor.dispose();
		this.#parts = Object.fromEntries(this.#names.map((name) => [name, results[residentName(name)] as Tensor]));
	}

	dispose(): void {
		for (const tensor of Object.values(this.#parts)) tensor.dispose();
		this.#mask?.dispose();
		this.#parts = {};
		this.#mask = null;
	}
}
