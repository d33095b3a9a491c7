import { Random } from '../../base/random.ts';

/**
 * Row order across epochs, with a separate shuffle for each. The order depends only on the seed. Access is sequential,
 * so only one epoch is cached at a time.
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

	/** Returns the row at a zero-based position that counts across epochs. */
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
