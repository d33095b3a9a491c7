import type { WeightsRef } from './jobs.ts';

/**
 * Newest version across all weights: if versions repeated, workers would mistake new weights in a slot for old ones.
 */
let newest = 0;

/** Weights in shared memory, readable by workers. */
export class SharedWeights {
	readonly flat: Float32Array<SharedArrayBuffer>;
	readonly #slot: WeightsRef['slot'];
	#version = ++newest;

	constructor(slot: WeightsRef['slot'], values: Float32Array) {
		this.#slot = slot;
		this.flat = new Float32Array(new SharedArrayBuffer(values.byteLength));
		this.flat.set(values);
	}

	/** Must be called after every change. */
	changed(): void {
		this.#version = ++newest;
	}

	get ref(): WeightsRef {
		return { slot: this.#slot, version: this.#version, buffer: this.flat.buffer };
	}
}
