/** Mean of the numbers added so far. */
export class RunningMean {
	#sum = 0;
	#count = 0;

	add(value: number): void {
		this.#sum += value;
		this.#count++;
	}

	/** null if there are no numbers yet. */
	get mean(): number | null {
		return this.#count === 0 ? null : this.#sum / this.#count;
	}
}
