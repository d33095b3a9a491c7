import { HashIndex } from './hashIndex.ts';
import { type DuplicateGroup, type DuplicateOptions, NearDuplicates } from './nearDuplicates.ts';
import type { WordHashes } from './wordHashes.ts';

export interface Duplicates {
	/** Groups of rows whose words are all the same. */
	readonly exact: readonly DuplicateGroup[];
	/** Groups of rows that share most of their runs of words; rows of an exact group are told by its first one. */
	readonly near: readonly DuplicateGroup[];
}

/** Rows that were compared. */
export interface ComparedRows {
	/** All that have words. */
	readonly exact: number;
	/** The first different ones. */
	readonly near: number;
	/** false: there are so many different rows that repeats of the last ones were not noticed. */
	readonly allExact: boolean;
	readonly complete: boolean;
}

/** Different texts that are kept by their hashes: they take 240 MB. */
const mostDistinct = 10_000_000;

/** Finds rows that an earlier one repeats, exactly or nearly, in one pass and in bounded memory. It keeps no texts. */
export class DuplicateFinder {
	readonly #firsts: HashIndex;
	readonly #near: NearDuplicates;
	/** Of the rows that repeat another exactly: the row, then the first that has its words. */
	readonly #repeats: number[] = [];
	#rows = 0;
	#distinct = 0;

	constructor(options: DuplicateOptions & { readonly distinct?: number } = {}) {
		this.#firsts = new HashIndex(options.distinct ?? mostDistinct);
		this.#near = new NearDuplicates(options);
	}

	/** @param row each larger than the one before. A row without words is no row's duplicate. */
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

	/** It yields now and then, so that its caller can do something else. */
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

/** What a search comes to, for those who need not be let in between. */
export function searched<T>(search: Generator<void, T>): T {
	for (;;) {
		const { done, value } = search.next();
		if (done) return value;
	}
}
