import { HashIndex } from './hashIndex.ts';
import { type DuplicateGroup, type DuplicateOptions, NearDuplicates } from './nearDuplicates.ts';
import type { WordHashes } from './wordHashes.ts';

export interface Duplicates {
	/** Groups of rows with the same words. */
	readonly exact: readonly DuplicateGroup[];
	/** Groups of rows that share most of their word n-grams. The first row of an exact group represents that group. */
	readonly near: readonly DuplicateGroup[];
}

/** Number of rows that were compared. */
export interface ComparedRows {
	/** Number of rows that contain words. */
	readonly exact: number;
	/** Number of distinct rows, starting with the first one, that were searched for near duplicates. */
	readonly near: number;
	/** Whether all exact duplicates were found. False if there were too many distinct rows to detect late repeats. */
	readonly allExact: boolean;
	readonly complete: boolean;
}

/** Maximum number of distinct rows whose hashes are kept (240 MB). */
const maxDistinct = 10_000_000;

/** Finds exact and near duplicates of earlier rows in a single pass and bounded memory, without storing the text. */
export class DuplicateFinder {
	readonly #firsts: HashIndex;
	readonly #near: NearDuplicates;
	/** Pairs of a repeated row and the first row with the same words. */
	readonly #repeats: number[] = [];
	#rows = 0;
	#distinct = 0;

	constructor(options: DuplicateOptions & { readonly distinct?: number } = {}) {
		this.#firsts = new HashIndex(options.distinct ?? maxDistinct);
		this.#near = new NearDuplicates(options);
	}

	/** @param row row number; must be greater than the previous one. A row without words is never a duplicate. */
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

	/** Yields periodically so that the caller can do other work. */
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

/** Runs a search to completion, for callers that do not need to interleave other work. */
export function searched<T>(search: Generator<void, T>): T {
	for (;;) {
		const { done, value } = search.next();
		if (done) return value;
	}
}
