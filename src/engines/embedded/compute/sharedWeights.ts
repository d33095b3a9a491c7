import type { WeightsRef } from './jobs.ts';

/** Weights in shared memory that workers can read. */
export class SharedWeights {
	readonly flat: Float32Array<SharedArrayBuffer>;
	readonly #slot: WeightsRef['slot'];
	#version: number;

	/** @param version version of the first weights, higher than those of earlier weights in this slot */
	constructor(slot: WeightsRef['slot'], values: Float32Array, version = 0) {
		this.#slot = slot;
		this.#version = version;
		this.flat = new Float32Array(new SharedArrayBuffer(values.byteLength));
		this.flat.set(values);
	}

	/** Must be called after every change. */
	changed(): void {
		this.#version++;
	}

	get ref(): WeightsRef {
		return { slot: this.#slot, version: this.#version, buffer: this.flat.buffer };
	}
}
