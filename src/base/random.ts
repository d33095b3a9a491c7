/** The state of {@link Random}: four unsigned 32-bit words. */
export type RandomState = readonly [number, number, number, number];

/** The 32-bit finalizer of MurmurHash3: flipping any input bit flips about half of the output bits. */
export function mix32(h: number): number {
	h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
	h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
	return (h ^ (h >>> 16)) >>> 0;
}

/** FNV-1a over UTF-16 code units with a final mix: a stable 32-bit string hash. */
export function hashText(text: string, seed = 0): number {
	let h = (0x811c9dc5 ^ seed) >>> 0;
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		h = Math.imul(h ^ (code & 0xff), 0x01000193);
		h = Math.imul(h ^ (code >>> 8), 0x01000193);
	}
	return mix32(h);
}

/**
 * xoshiro128** (Blackman and Vigna 2018): a small, fast generator whose state can be saved and restored. Not
 * cryptographically secure.
 */
export class Random {
	#a: number;
	#b: number;
	#c: number;
	#d: number;

	private constructor(state: RandomState) {
		[this.#a, this.#b, this.#c, this.#d] = state;
	}

	/** Creates an independent stream for each seed list: `Random.of(seed, 'sample', step, row)`. */
	static of(...seeds: readonly (number | string)[]): Random {
		let h = 0x9e3779b9;
		const words: number[] = [];
		for (let i = 0; i < 4; i++) {
			for (const seed of seeds) {
				h = hashText(typeof seed === 'number' ? `n${seed}` : `s${seed}`, (h + i * 0x6d2b79f5) >>> 0);
			}
			h = mix32(h + 0x9e3779b9 + i);
			words.push(h);
		}
		if ((h | (words[0] ?? 0)) === 0) words[0] = 1;
		return new Random(words as unknown as RandomState);
	}

	static restore(state: RandomState): Random {
		return new Random(state);
	}

	get state(): RandomState {
		return [this.#a, this.#b, this.#c, this.#d];
	}

	/** Returns a uniform unsigned 32-bit integer. */
	uint32(): number {
		const b5 = Math.imul(this.#b, 5);
		const result = Math.imul((b5 << 7) | (b5 >>> 25), 9) >>> 0;
		const t = this.#b << 9;
		this.#c ^= this.#a;
		this.#d ^= this.#b;
		this.#b ^= this.#c;
		this.#a ^= this.#d;
		this.#c ^= t;
		this.#d = (this.#d << 11) | (this.#d >>> 21);
		this.#a >>>= 0;
		this.#b >>>= 0;
		this.#c >>>= 0;
		this.#d >>>= 0;
		return result;
	}

	/** Returns a uniform number in [0, 1) with 32 bits of resolution. */
	next(): number {
		return this.uint32() / 4294967296;
	}

	/** Returns a uniform integer in [0, n). */
	int(n: number): number {
		return Math.floor(this.next() * n);
	}

	/** Returns a uniform integer in [low, high]. */
	between(low: number, high: number): number {
		return low + this.int(high - low + 1);
	}

	/** Returns a standard normal sample (Box-Muller, using only one value of each pair). */
	normal(): number {
		const u = 1 - this.next();
		return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.next());
	}

	pick<T>(items: readonly T[]): T {
		const item = items[this.int(items.length)];
		if (item === undefined) throw new RangeError('cannot pick from an empty list');
		return item;
	}

	/** Shuffles in place (Fisher-Yates). */
	shuffle<T>(items: T[]): T[] {
		for (let i = items.length - 1; i > 0; i--) {
			const j = this.int(i + 1);
			[items[i], items[j]] = [items[j] as T, items[i] as T];
		}
		return items;
	}
}
