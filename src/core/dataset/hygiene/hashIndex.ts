/**
 * Numbers by hashes of 64 bits, in 12 to 24 bytes each: a `Map` takes four times as much, and none holds more than 16 million.
 * Two texts of ten million share a hash with a probability of 3 in a million.
 */
export class HashIndex {
	readonly #most: number;
	/** Three numbers a slot, so that one look into memory finds all: the halves of the hash, and the value + 1; 0: it is free. */
	#slots = new Uint32Array(3 * 1024);
	#mask = 1023;
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

	/** Adds the first `count` hashes of two lists, with the value 0 where one is new: faster than one by one. */
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

/** Where a hash is, or is to be. */
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
