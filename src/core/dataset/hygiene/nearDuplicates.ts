import { mix32, Random } from '../../../base/random.ts';
import type { WordHashes } from './wordHashes.ts';

/** Duplicate rows in ascending order; deduplication keeps the first one. */
export type DuplicateGroup = readonly number[];

export interface DuplicateOptions {
	/** Minimum Jaccard similarity between the word n-grams of near duplicates. Defaults to 0.8. */
	readonly similarity?: number;
	/** Words per n-gram. Defaults to 5. Shorter texts are compared as a whole. */
	readonly shingle?: number;
	/** Maximum number of texts kept. The default, 2 million, is also the upper limit. */
	readonly texts?: number;
	/** Maximum number of n-grams kept across all texts, at 4 bytes each. Defaults to 40 million. */
	readonly shingles?: number;
}

const hashes = 128;
/**
 * 16 bands of 8: texts with a similarity of 0.8 collide in at least one band with probability 0.95; texts with a
 * similarity of 0.5, with probability 0.06.
 */
const bands = 16;
const perBand = hashes / bands;
const donorsPerBin = 8;
/**
 * Maximum number of rows in the same bucket to compare each row with. Larger buckets come from a common opening phrase.
 */
const maxCompared = 50;
/**
 * Limit on the average number of comparisons per text. Without it, data generated from one template would take hours.
 */
const comparisonsPerText = 100;
/** 53 bits hold a 32-bit key and a text index. */
const maxTexts = 1 << 21;
const blockLength = 1 << 20;
/** Number of texts processed between yields. */
const breath = 2048;

/**
 * Finds texts that share most of their word n-grams. MinHash signatures (Broder 1997), computed with one permutation
 * (Li, Owen, and Zhang 2012) and densification of empty bins (Shrivastava 2017), propose candidate pairs by banding
 * (locality-sensitive hashing, Leskovec et al., Mining of Massive Datasets, chapter 3). Each candidate is then verified
 * by computing the exact Jaccard similarity. Each text takes 76 bytes plus 4 bytes per n-gram.
 */
export class NearDuplicates {
	readonly #similarity: number;
	readonly #shingle: number;
	readonly #maxTexts: number;
	readonly #mostShingles: number;
	/** Bins to try, in order, when filling an empty bin. */
	readonly #donors: Uint8Array;
	readonly #signature = new Uint32Array(hashes);
	readonly #filled = new Uint8Array(hashes);
	#scratch = new Uint32Array(1024);
	/** For each text: its row, the location of its n-grams, and its keys (one per band). */
	#rows = new Uint32Array(256);
	#blocks = new Uint32Array(256);
	#starts = new Uint32Array(256);
	#lengths = new Uint32Array(256);
	/** 1 if a text's n-grams are sorted and unique; sorting is deferred until the text is first compared. */
	#sorted = new Uint8Array(256);
	readonly #keys = Array.from({ length: bands }, () => new Uint32Array(256));
	readonly #pool: Uint32Array[] = [];
	/** Number of used entries in the last block. */
	#used = blockLength;
	#shingles = 0;
	#size = 0;
	#closed = false;

	constructor({ similarity = 0.8, shingle = 5, texts = maxTexts, shingles = 40e6 }: DuplicateOptions = {}) {
		this.#similarity = similarity;
		this.#shingle = shingle;
		this.#maxTexts = Math.min(texts, maxTexts);
		this.#mostShingles = shingles;
		const random = Random.of('minhash');
		this.#donors = Uint8Array.from({ length: hashes * donorsPerBin }, () => random.int(hashes));
	}

	/** Number of texts kept. */
	get size(): number {
		return this.#size;
	}

	/**
	 * @param row row number to report in groups; must be greater than the previous one
	 * @returns false if there is no room left
	 */
	add(row: number, words: WordHashes): boolean {
		if (this.#closed || this.#size >= this.#maxTexts) return false;
		const set = this.#shinglesOf(words);
		if (this.#shingles + set.length > this.#mostShingles) {
			// Reject later, shorter texts too, so that the compared texts are always the first ones.
			this.#closed = true;
			return false;
		}
		if (this.#size === this.#rows.length) this.#grow();
		const i = this.#size++;
		this.#rows[i] = row;
		this.#keep(i, set);
		this.#sign(set);
		for (let b = 0; b < bands; b++) {
			let key = b;
			for (let k = b * perBand; k < (b + 1) * perBand; k++) {
				key = Math.imul(key ^ (this.#signature[k] as number), 0x9e3779b1);
				key ^= key >>> 15;
			}
			(this.#keys[b] as Uint32Array)[i] = mix32(key);
		}
		return true;
	}

	/** Returns all groups. Yields periodically so that the caller can do other work. */
	*search(): Generator<void, DuplicateGroup[]> {
		const parents = Uint32Array.from({ length: this.#size }, (_, i) => i);
		const all = new Float64Array(this.#size);
		const met = new MetKeys(this.#size);
		let left = this.#size * comparisonsPerText;
		for (let b = 0; b < bands; b++) {
			const places = this.#shared(b, met, all);
			yield;
			for (let from = 0, seen = 0; from < places.length; ) {
				const key = keyOf(places[from] as number);
				let to = from + 1;
				while (to < places.length && keyOf(places[to] as number) === key) to++;
				for (let at = from + 1; at < to; at++) {
					const i = textOf(places[at] as number);
					const last = Math.min(at, from + maxCompared);
					for (let one = from; one < last && left > 0; one++) {
						const other = textOf(places[one] as number);
						const [low, high] = ordered(rootOf(parents, other), rootOf(parents, i));
						if (low === high) continue;
						left--;
						// The earlier row represents its group.
						if (this.#alike(other, i)) parents[high] = low;
					}
					if (++seen % breath === 0) yield;
				}
				from = to;
			}
		}
		const groups = new Map<number, number[]>();
		for (let i = 0; i < this.#size; i++) {
			const root = rootOf(parents, i);
			if (root === i) continue;
			const group = groups.get(root);
			if (group === undefined) groups.set(root, [this.#rows[root] as number, this.#rows[i] as number]);
			else group.push(this.#rows[i] as number);
			if (i % breath === 0) yield;
		}
		return [...groups.values()].sort(([a = 0], [b = 0]) => a - b);
	}

	/** Returns a band's texts sorted by key, ascending, omitting most texts with a unique key. */
	#shared(band: number, met: MetKeys, into: Float64Array): Float64Array {
		const keys = this.#keys[band] as Uint32Array;
		const size = this.#size;
		met.clear();
		for (let i = 0; i < size; i++) met.add(keys[i] as number);
		let count = 0;
		for (let i = 0; i < size; i++) {
			const key = keys[i] as number;
			if (met.twice(key)) into[count++] = key * maxTexts + i;
		}
		return into.subarray(0, count).sort();
	}

	/** Returns the n-gram hashes of a text. The next call overwrites them. */
	#shinglesOf(words: WordHashes): Uint32Array {
		const run = Math.min(this.#shingle, words.length);
		const count = words.length - run + 1;
		if (this.#scratch.length < count) this.#scratch = new Uint32Array(2 * count);
		const set = this.#scratch;
		for (let at = 0; at < count; at++) {
			let hash = 0x811c9dc5;
			for (let k = at; k < at + run; k++) {
				hash = Math.imul(hash ^ (words.low[k] as number), 0x9e3779b1);
				hash ^= hash >>> 15;
			}
			set[at] = hash;
		}
		return set.subarray(0, count);
	}

	/** Sorts a text's n-grams and removes duplicates. */
	#sort(i: number): void {
		if (this.#sorted[i] === 1) return;
		this.#sorted[i] = 1;
		const start = this.#starts[i] as number;
		const set = (this.#pool[this.#blocks[i] as number] as Uint32Array).subarray(
			start,
			start + (this.#lengths[i] as number),
		);
		set.sort();
		let distinct = 0;
		for (let at = 0; at < set.length; at++) {
			if (distinct === 0 || set[at] !== set[distinct - 1]) set[distinct++] = set[at] as number;
		}
		this.#lengths[i] = distinct;
	}

	#keep(i: number, set: Uint32Array): void {
		let block = this.#pool.at(-1);
		if (block === undefined || this.#used + set.length > block.length) {
			block = new Uint32Array(Math.max(blockLength, set.length));
			this.#pool.push(block);
			this.#used = 0;
		}
		block.set(set, this.#used);
		this.#blocks[i] = this.#pool.length - 1;
		this.#starts[i] = this.#used;
		this.#lengths[i] = set.length;
		this.#used += set.length;
		this.#shingles += set.length;
	}

	/** Computes the min hash of each bin. An empty bin copies its first nonempty donor, or else the next bin. */
	#sign(set: Uint32Array): void {
		const [signature, filled, donors] = [this.#signature, this.#filled, this.#donors];
		signature.fill(0xffffffff);
		filled.fill(0);
		for (let i = 0; i < set.length; i++) {
			const hash = mix32((set[i] as number) ^ 0x5bd1e995);
			const bin = hash >>> 25;
			filled[bin] = 1;
			if (hash < (signature[bin] as number)) signature[bin] = hash;
		}
		for (let bin = 0; bin < hashes; bin++) {
			if (filled[bin] === 1) continue;
			let place = bin * donorsPerBin;
			const end = place + donorsPerBin;
			while (place < end && filled[donors[place] as number] === 0) place++;
			let donor = donors[place] as number;
			if (place === end) {
				donor = bin;
				while (filled[donor] === 0) donor = (donor + 1) % hashes;
			}
			// Bins that are not marked as filled cannot be donors.
			signature[bin] = signature[donor] as number;
		}
	}

	/** Returns whether two texts share enough n-grams, stopping as soon as that becomes impossible. */
	#alike(a: number, b: number): boolean {
		const [left, right] = [this.#pool[this.#blocks[a] as number], this.#pool[this.#blocks[b] as number]];
		if (left === undefined || right === undefined) return false;
		this.#sort(a);
		this.#sort(b);
		let [i, j] = [this.#starts[a] as number, this.#starts[b] as number];
		const [endA, endB] = [i + (this.#lengths[a] as number), j + (this.#lengths[b] as number)];
		const all = (this.#lengths[a] as number) + (this.#lengths[b] as number);
		// both / (all - both) >= s, where both = (all - apart) / 2
		const maxDistance = (all * (1 - this.#similarity)) / (1 + this.#similarity) + 1e-9;
		let apart = 0;
		while (i < endA && j < endB) {
			const [one, two] = [left[i] as number, right[j] as number];
			if (one === two) {
				i++;
				j++;
				continue;
			}
			if (++apart > maxDistance) return false;
			if (one < two) i++;
			else j++;
		}
		return apart + (endA - i) + (endB - j) <= maxDistance;
	}

	#grow(): void {
		this.#rows = grown(this.#rows);
		this.#blocks = grown(this.#blocks);
		this.#starts = grown(this.#starts);
		this.#lengths = grown(this.#lengths);
		this.#sorted = grownBytes(this.#sorted);
		for (const [b, keys] of this.#keys.entries()) this.#keys[b] = grown(keys);
	}
}

/**
 * Tracks which keys might occur more than once. Sorting only those is several times faster, because few texts in a band
 * share a key.
 */
class MetKeys {
	/** Number of occurrences (0, 1, or 2 for more) of keys with the same low bits. */
	readonly #times: Uint8Array;

	constructor(keys: number) {
		let slots = 1 << 12;
		while (slots < keys * 4) slots *= 2;
		this.#times = new Uint8Array(slots);
	}

	clear(): void {
		this.#times.fill(0);
	}

	add(key: number): void {
		const slot = key & (this.#times.length - 1);
		if ((this.#times[slot] as number) < 2) (this.#times[slot] as number)++;
	}

	twice(key: number): boolean {
		return this.#times[key & (this.#times.length - 1)] === 2;
	}
}

const keyOf = (place: number): number => Math.floor(place / maxTexts);
const textOf = (place: number): number => place % maxTexts;
const ordered = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);

function rootOf(parents: Uint32Array, i: number): number {
	let root = i;
	while (parents[root] !== root) root = parents[root] as number;
	for (let at = i; at !== root; ) {
		const next = parents[at] as number;
		parents[at] = root;
		at = next;
	}
	return root;
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
	const larger = new Uint32Array(array.length * 2);
	larger.set(array);
	return larger;
}

function grownBytes(array: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
	const larger = new Uint8Array(array.length * 2);
	larger.set(array);
	return larger;
}
