import type { ContaminationIndex } from './contamination.ts';
import { type ComparedRows, DuplicateFinder, type Duplicates } from './duplicateFinder.ts';
import type { DuplicateOptions } from './nearDuplicates.ts';
import { type CountedRow, type DatasetFacts, FactsCounter } from './statistics.ts';
import { WordHashes } from './wordHashes.ts';

export interface TestSet {
	readonly name: string;
	readonly rows: number;
	readonly index: ContaminationIndex;
}

/** A row that gives a test away. Rows count from 0. */
export interface ContaminatedRow {
	readonly row: number;
	/** Name of the test set, and the row in it. */
	readonly against: string;
	readonly test: number;
	/** The words that both have in a row. */
	readonly words: string;
}

export interface DatasetReport {
	readonly facts: DatasetFacts;
	readonly duplicates: Duplicates;
	readonly compared: ComparedRows;
	/** Rows that the data would have without all but the first of each group of duplicates. */
	readonly distinct: number;
	/** The first 100,000 of them. */
	readonly contaminated: readonly ContaminatedRow[];
	/** Of each test set: its rows, those too short to be looked for, and how many rows overlap with it. */
	readonly against: readonly {
		readonly name: string;
		readonly rows: number;
		readonly tooShort: number;
		readonly overlaps: number;
	}[];
}

/** Overlaps that are kept one by one; all are counted. */
const mostKept = 100_000;

/** Computes statistics, duplicates, and overlaps with test sets, row by row in bounded memory. */
export class DatasetCounter {
	readonly #facts = new FactsCounter();
	readonly #duplicates: DuplicateFinder;
	readonly #words = new WordHashes();
	readonly #tests: readonly TestSet[];
	readonly #overlaps: number[];
	readonly #contaminated: ContaminatedRow[] = [];

	constructor(tests: readonly TestSet[], options?: DuplicateOptions & { readonly distinct?: number }) {
		this.#tests = tests;
		this.#overlaps = tests.map(() => 0);
		this.#duplicates = new DuplicateFinder(options);
	}

	/** @param row must be larger than the previous one */
	add(row: number, counted: CountedRow & { readonly prompt: string }): void {
		const { prompt, solution } = counted;
		const words = this.#words.read(prompt);
		this.#facts.add(counted, words);
		this.#duplicates.add(row, words);
		for (const [i, { name, index }] of this.#tests.entries()) {
			// A solution may quote the test as well as the prompt.
			const found = index.find(prompt) ?? (solution === null ? null : index.find(solution));
			if (found === null) continue;
			(this.#overlaps[i] as number)++;
			if (this.#contaminated.length < mostKept)
				this.#contaminated.push({ row, against: name, test: found.test, words: found.words });
			break;
		}
	}

	/** Yields now and then, so that the caller can do other work. */
	*report(): Generator<void, DatasetReport> {
		const duplicates = yield* this.#duplicates.search();
		const { facts } = this.#facts;
		let superfluous = 0;
		for (const groups of [duplicates.exact, duplicates.near])
			for (const group of groups) superfluous += group.length - 1;
		return {
			facts,
			duplicates,
			compared: this.#duplicates.compared,
			distinct: facts.rows - superfluous,
			contaminated: this.#contaminated,
			against: this.#tests.map(({ name, rows, index }, i) => ({
				name,
				rows,
				tooShort: index.tooShort,
				overlaps: this.#overlaps[i] as number,
			})),
		};
	}
}
