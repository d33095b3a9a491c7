/**
 * Maps 64-bit hashes to numbers, using 12 to 24 bytes per entry. A `Map` needs four times as much memory and is limited
 * to 16 million entries. The probability of any hash collision among ten million strings is 3 in a million.
 */
export class HashIndex {
	readonly #most: number;
	/**
	 * Three numbers per slot, so that one memory access reads everything: both halves of the hash, then the value + 1 (0
	 * if the slot is free).
	 */
	#slots = new Uint32Array(3 * 1024);
	#mask = 1023;
	#size = 0;

	/** @param limit maximum number of hashes kept; later ones are only looked up */
	constructor(limit = Number.POSITIVE_INFINITY) {
		this.#most = limit;
	}

	get size(): number {
		return this.#size;
	}

	/** Whether the index has reached its maximum size. */
	get full(): boolean {
		return this.#size >= this.#most;
	}

	/** Returns the value of a known hash. Returns undefined for a new hash, which is added unless the index is full. */
	add(low: number, high: number, value: number): number | undefined {
		if (this.#size * 10 >= (this.#mask + 1) * 7) this.#grow();
		const at = placeOf(this.#slots, this.#mask, low, high);
		const there = this.#slots[at + 2] as number;
		if (there !== 0) return there - 1;
		if (!this.full) {
			setAt(this.#slots, at, low, high, value + 1);
			this.#size++;
		}
		return undefined;
	}

	/** Adds the first `count` hashes of two lists, with value 0 for new ones. Faster than adding them individually. */
	addAll(lows: Uint32Array, highs: Uint32Array, count: number): void {
		for (let i = 0; i < count; i++) {
			const [low, high] = [lows[i] as number, highs[i] as number];
			const at = placeOf(this.#slots, this.#mask, low, high);
			if (this.#slots[at + 2] === 0) this.add(low, high, 0);
		}
	}

	#grow(): void {
		const old = this.#slots;
		this.#slots = new Uint32Array(old.length * 2);
		this.#mask = this.#mask * 2 + 1;
		for (let at = 0; at < old.length; at += 3) {
			const value = old[at + 2] as number;
			if (value === 0) continue;
			const [low, high] = [old[at] as number, old[at + 1] as number];
			setAt(this.#slots, placeOf(this.#slots, this.#mask, low, high), low, high, value);
		}
	}
}

/** Returns the slot of a hash, occupied or free. */
function placeOf(slots: Uint32Array, mask: number, low: number, high: number): number {
	let slot = low & mask;
	for (;;) {
		const at = slot * 3;
		if (slots[at + 2] === 0 || (slots[at] === low && slots[at + 1] === high)) return at;
		slot = (slot + 1) & mask;
	}
}

function setAt(slots: Uint32Array, at: number, low: number, high: number, value: number): void {
	slots[at] = low;
	slots[at + 1] = high;
	slots[at + 2] = value;
}
