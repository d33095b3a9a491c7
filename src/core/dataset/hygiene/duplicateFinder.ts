import { HashIndex } from './hashIndex.ts';
import { type DuplicateGroup, type DuplicateOptions, NearDuplicates } from './nearDuplicates.ts';
import type { WordHashes } from './wordHashes.ts';

export interface Duplicates {
	/** Groups of rows with identical words. */
	readonly exact: readonly DuplicateGroup[];
	/** Groups of rows that share most of their word n-grams; an exact group is represented by its first row. */
	readonly near: readonly DuplicateGroup[];
}

/** Number of rows compared. */
export interface ComparedRows {
	/** All rows that contain words. */
	readonly exact: number;
	/** The first distinct ones. */
	readonly near: number;
	/** false if there were so many distinct rows that repeats of the last ones were not detected. */
	readonly allExact: boolean;
	readonly complete: boolean;
}

/** Max distinct texts kept as hashes (240 MB). */
const mostDistinct = 10_000_000;

/** Finds exact and near duplicates of earlier rows, in one pass and bounded memory. It keeps no texts. */
export class DuplicateFinder {
	readonly #firsts: HashIndex;
	readonly #near: NearDuplicates;
	/** For exact repeats: the row, followed by the first row with the same words. */
	readonly #repeats: number[] = [];
	#rows = 0;
	#distinct = 0;

	constructor(options: DuplicateOptions & { readonly distinct?: number } = {}) {
		this.#firsts = new HashIndex(options.distinct ?? mostDistinct);
		this.#near = new NearDuplicates(options);
	}

	/** @param row must be larger than the previous one. A row without words is never a duplicate. */
	add(row: number, words: WordHashes): void {
		if (words.length === 0) return;
		this.#rows++;
		const first = this.#firsts.add(...words.all, row);
		if (first !== undefined) {
			this.#repeats.push(row, first);
			return;
		}
		this.#distinct++;
		this.#near.add(row, words);
	}

	get compared(): ComparedRows {
		const [distinct, kept, near] = [this.#distinct, this.#firsts.size, this.#near.size];
		return { exact: this.#rows, near, allExact: kept === distinct, complete: kept === distinct && near === distinct };
	}

	/** Yields now and then, so that the caller can do other work. */
	*search(): Generator<void, Duplicates> {
		const exact = new Map<number, number[]>();
		for (let i = 0; i < this.#repeats.length; i += 2) {
			const [row, first] = [this.#repeats[i] as number, this.#repeats[i + 1] as number];
			const group = exact.get(first);
			if (group === undefined) exact.set(first, [first, row]);
			else group.push(row);
			if (i % 4096 === 0) yield;
		}
		const near = yield* this.#near.search();
		return { exact: [...exact.values()].sort(([a = 0], [b = 0]) => a - b), near };
	}
}

/** Runs a search to its end, for callers that need not interleave other work. */
export function searched<T>(search: Generator<void, T>): T {
	for (;;) {
		const { done, value } = search.next();
		if (done) return value;
	}
}
