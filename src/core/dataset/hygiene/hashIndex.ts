/**
 * Numbers by hashes of 64 bits, in 12 to 24 bytes each: a `Map` takes four times as much, and none holds more than 16 million.
 * Two texts of ten million share a hash with a probability of 3 in a million.
 */
export class HashIndex {
	readonly #most: number;
	#low = new Uint32Array(1024);
	#high = new Uint32Array(1024);
	/** Value + 1; 0: the slot is free. */
	#values = new Uint32Array(1024);
	#size = 0;

	/** @param most hashes that are kept; later ones are looked up only */
	constructor(most = Number.POSITIVE_INFINITY) {
		this.#most = most;
	}

	get size(): number {
		return this.#size;
	}

	/** Whether there was no room for another hash. */
	get full(): boolean {
		return this.#size >= this.#most;
	}

	/** The value of a hash that is there already; undefined: it was not, and now has this one unless the index is full. */
	add(low: number, high: number, value: number): number | undefined {
		if (this.#size * 10 >= this.#values.length * 7) this.#grow();
		const slot = this.#find(low, high);
		const there = this.#values[slot] as number;
		if (there !== 0) return there - 1;
		if (!this.full) {
			this.#set(slot, low, high, value + 1);
			this.#size++;
		}
		return undefined;
	}

	#find(low: number, high: number): number {
		const mask = this.#values.length - 1;
		let slot = low & mask;
		while (this.#values[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high)) slot = (slot + 1) & mask;
		return slot;
	}

	#set(slot: number, low: number, high: number, value: number): void {
		this.#low[slot] = low;
		this.#high[slot] = high;
		this.#values[slot] = value;
	}

	#grow(): void {
		const [low, high, values] = [this.#low, this.#high, this.#values];
		this.#low = new Uint32Array(values.length * 2);
		this.#high = new Uint32Array(values.length * 2);
		this.#values = new Uint32Array(values.length * 2);
		for (let i = 0; i < values.length; i++) {
			if (values[i] === 0) continue;
			const [a, b] = [low[i] as number, high[i] as number];
			this.#set(this.#find(a, b), a, b, values[i] as number);
		}
	}
}
