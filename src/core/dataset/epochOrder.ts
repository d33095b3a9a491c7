import { Random } from '../../base/random.ts';

/**
 * The order of file rows: epoch after epoch, each shuffled anew. It depends on the seed only. The order of one epoch at
 * a time is cached, because access is sequential.
 */
export class EpochOrder {
	readonly #count: number;
	readonly #seed: number;
	readonly #purpose: string;
	#epoch = -1;
	#order: number[] = [];

	/** @param count number of rows, at least 1 */
	constructor(count: number, seed: number, purpose: string) {
		this.#count = count;
		this.#seed = seed;
		this.#purpose = purpose;
	}

	/** The row at a position, counted from 0 over all epochs. */
	at(place: number): number {
		const epoch = Math.floor(place / this.#count);
		if (epoch !== this.#epoch) {
			this.#epoch = epoch;
			const rows = Array.from({ length: this.#count }, (_, i) => i);
			this.#order = Random.of(this.#seed, this.#purpose, epoch).shuffle(rows);
		}
		return this.#order[place % this.#count] as number;
	}
}
