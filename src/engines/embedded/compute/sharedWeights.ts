import type { WeightsRef } from './jobs.ts';

/** Weights in shared memory, readable by workers. */
export class SharedWeights {
	readonly flat: Float32Array<SharedArrayBuffer>;
	readonly #slot: WeightsRef['slot'];
	#version: number;

	/** @param version initial version, which must be higher than that of any earlier weights in this slot */
	constructor(slot: WeightsRef['slot'], values: Float32Array, version = 0) {
		this.#slot = slot;
		this.#version = version;
		this.flat = new Float32Array(new SharedArrayBuffer(values.byteLength));
		this.flat.set(values);
	}

	/** Increments the version. Must be called after every change. */
	changed(): void {
		this.#version++;
	}

	get ref(): WeightsRef {
		return { slot: this.#slot, version: this.#version, buffer: this.flat.buffer };
	}
}
