import type { WeightsRef } from './jobs.ts';

/** Weights in memory that the workers can read. */
export class SharedWeights {
	readonly flat: Float32Array<SharedArrayBuffer>;
	readonly #slot: WeightsRef['slot'];
	#version = 0;

	constructor(slot: WeightsRef['slot'], values: Float32Array) {
		this.#slot = slot;
		this.flat = new Float32Array(new SharedArrayBuffer(values.byteLength));
		this.flat.set(values);
	}

	/** To be called after every change. */
	changed(): void {
		this.#version++;
	}

	get ref(): WeightsRef {
		return { slot: this.#slot, version: this.#version, buffer: this.flat.buffer };
	}
}
