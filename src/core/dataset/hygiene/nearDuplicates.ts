import { hashText, mix32, Random } from '../../../base/random.ts';
import { wordsOf } from './words.ts';

/** Rows that say the same, in their order; the first one is the one to keep. */
export type DuplicateGroup = readonly number[];

export interface Duplicates {
	/** Groups of rows whose words are all the same. */
	readonly exact: readonly DuplicateGroup[];
	/** Groups of rows that share most of their runs of words; rows of an exact group are told by its first one. */
	readonly near: readonly DuplicateGroup[];
}

export interface DuplicateOptions {
	/** Jaccard similarity of two texts' runs of words from which on they are near duplicates; default 0.8. */
	readonly similarity?: number;
	/** Words of a run; default 5. Shorter texts are compared whole. */
	readonly shingle?: number;
}

const hashes = 128;
/** 16 bands of 8: texts of similarity 0.8 meet in at least one with probability 0.95, those of 0.5 with 0.06. */
const bands = 16;
/** A bucket with more rows than this is of a phrase that half of the data begins with: each is compared with the first ones. */
const mostCompared = 50;

/**
 * Exact and near duplicates of texts: MinHash signatures of runs of words (Broder 1997) propose pairs by bands
 * (locality-sensitive hashing, Leskovec et al., Mining of Massive Datasets, chapter 3), and each proposal is held against
 * the true Jaccard similarity.
 */
export function findDuplicates(texts: readonly string[], options: DuplicateOptions = {}): Duplicates {
	const words = texts.map(wordsOf);
	const exact = new Map<string, number[]>();
	for (const [row, list] of words.entries()) {
		// A row without words is no row's duplicate.
		if (list.length === 0) continue;
		const key = list.join(' ');
		const group = exact.get(key);
		if (group === undefined) exact.set(key, [row]);
		else group.push(row);
	}
	const near = new NearDuplicates(options);
	for (const [row = 0] of exact.values()) near.add(row, words[row] as string[]);
	return { exact: [...exact.values()].filter((group) => group.length > 1), near: near.groups };
}

/** Hashes of the runs of words of a text. */
function shinglesOf(words: readonly string[], length: number): Set<number> {
	if (words.length <= length) return new Set([hashText(words.join(' '))]);
	const set = new Set<number>();
	for (let at = 0; at + length <= words.length; at++) set.add(hashText(words.slice(at, at + length).join(' ')));
	return set;
}

/** Finds texts that share most of their runs of words, one by one. */
export class NearDuplicates {
	readonly #similarity: number;
	readonly #shingle: number;
	readonly #seeds: readonly number[];
	readonly #buckets = Array.from({ length: bands }, () => new Map<number, number[]>());
	readonly #rows: number[] = [];
	readonly #sets: Set<number>[] = [];
	readonly #parent: number[] = [];

	constructor({ similarity = 0.8, shingle = 5 }: DuplicateOptions = {}) {
		this.#similarity = similarity;
		this.#shingle = shingle;
		const random = Random.of('minhash');
		this.#seeds = Array.from({ length: hashes }, () => random.uint32());
	}

	/** Texts that were added. */
	get size(): number {
		return this.#rows.length;
	}

	/** @param row its number, told in groups; each larger than the one before */
	add(row: number, words: readonly string[]): void {
		const i = this.#rows.push(row) - 1;
		const set = shinglesOf(words, this.#shingle);
		this.#sets.push(set);
		this.#parent.push(i);
		const signature = signatureOf(set, this.#seeds);
		const perBand = hashes / bands;
		const compared = new Set<number>();
		for (const [b, bucket] of this.#buckets.entries()) {
			let key = b;
			for (let k = 0; k < perBand; k++) key = mix32(key ^ (signature[b * perBand + k] as number));
			const members = bucket.get(key);
			if (members === undefined) {
				bucket.set(key, [i]);
				continue;
			}
			for (const other of members.slice(0, mostCompared)) {
				if (compared.has(other) || this.#rootOf(other) === this.#rootOf(i)) continue;
				compared.add(other);
				if (jaccard(this.#sets[other] as Set<number>, set) < this.#similarity) continue;
				// The earlier row leads its group.
				const [low, high] = [this.#rootOf(other), this.#rootOf(i)].sort((a, b) => a - b) as [number, number];
				this.#parent[high] = low;
			}
			members.push(i);
		}
	}

	get groups(): DuplicateGroup[] {
		const groups = new Map<number, number[]>();
		for (const [i, row] of this.#rows.entries()) {
			const root = this.#rootOf(i);
			const group = groups.get(root);
			if (group === undefined) groups.set(root, [row]);
			else group.push(row);
		}
		return [...groups.values()].filter((group) => group.length > 1);
	}

	#rootOf(i: number): number {
		let root = i;
		while (this.#parent[root] !== root) root = this.#parent[root] as number;
		let at = i;
		while (this.#parent[at] !== root) {
			const next = this.#parent[at] as number;
			this.#parent[at] = root;
			at = next;
		}
		return root;
	}
}

function signatureOf(set: ReadonlySet<number>, seeds: readonly number[]): Uint32Array {
	const signature = new Uint32Array(seeds.length).fill(0xffffffff);
	for (const shingle of set) {
		for (let k = 0; k < seeds.length; k++) {
			const hash = mix32(shingle ^ (seeds[k] as number));
			if (hash < (signature[k] as number)) signature[k] = hash;
		}
	}
	return signature;
}

/** Size of the intersection over size of the union. */
export function jaccard(a: ReadonlySet<number>, b: ReadonlySet<number>): number {
	let both = 0;
	for (const value of a) if (b.has(value)) both++;
	return both / (a.size + b.size - both);
}
