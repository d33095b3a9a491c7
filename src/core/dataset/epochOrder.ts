import { Random } from '../../base/random.ts';

/**
 * The order in which the rows of a file come: epoch after epoch, each shuffled anew. Which row has which place follows from the
 * seed alone. The order of one epoch at a time is kept: those who ask go on from where they were.
 */
export class EpochOrder {
	readonly #count: number;
	readonly #seed: number;
	readonly #purpose: string;
	#epoch = -1;
	#order: number[] = [];

	/** @param count of rows, at least 1 */
	constructor(count: number, seed: number, purpose: string) {
		this.#count = count;
		this.#seed = seed;
		this.#purpose = purpose;
	}

	/** The row at a place, counted from 0 over all epochs. */
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
