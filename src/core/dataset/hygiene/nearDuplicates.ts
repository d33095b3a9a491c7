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
	const { similarity = 0.8, shingle = 5 } = options;
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
	const first = [...exact.values()].map((group) => group[0] as number);
	return {
		exact: [...exact.values()].filter((group) => group.length > 1),
		near: nearGroups(
			first,
			first.map((row) => shinglesOf(words[row] as string[], shingle)),
			similarity,
		),
	};
}

/** Hashes of the runs of words of a text. */
function shinglesOf(words: readonly string[], length: number): Set<number> {
	if (words.length <= length) return new Set([hashText(words.join(' '))]);
	const set = new Set<number>();
	for (let at = 0; at + length <= words.length; at++) set.add(hashText(words.slice(at, at + length).join(' ')));
	return set;
}

function nearGroups(rows: readonly number[], sets: readonly Set<number>[], similarity: number): DuplicateGroup[] {
	const random = Random.of('minhash');
	const seeds = Array.from({ length: hashes }, () => random.uint32());
	const parent = rows.map((_, i) => i);
	const rootOf = (i: number): number => {
		let root = i;
		while (parent[root] !== root) root = parent[root] as number;
		while (parent[i] !== root) [i, parent[i]] = [parent[i] as number, root];
		return root;
	};
	const perBand = hashes / bands;
	const buckets = Array.from({ length: bands }, () => new Map<number, number[]>());
	for (const [i, set] of sets.entries()) {
		const signature = signatureOf(set, seeds);
		for (const [b, bucket] of buckets.entries()) {
			let key = b;
			for (let k = 0; k < perBand; k++) key = mix32(key ^ (signature[b * perBand + k] as number));
			const members = bucket.get(key);
			if (members === undefined) {
				bucket.set(key, [i]);
				continue;
			}
			for (const other of members.slice(0, mostCompared)) {
				if (rootOf(other) === rootOf(i) || jaccard(sets[other] as Set<number>, set) < similarity) continue;
				// The earlier row leads its group.
				const [low, high] = [rootOf(other), rootOf(i)].sort((a, b) => a - b) as [number, number];
				parent[high] = low;
			}
			members.push(i);
		}
	}
	const groups = new Map<number, number[]>();
	for (const [i, row] of rows.entries()) {
		const root = rootOf(i);
		const group = groups.get(root);
		if (group === undefined) groups.set(root, [row]);
		else group.push(row);
	}
	return [...groups.values()].filter((group) => group.length > 1);
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
