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

/** A training row that overlaps with a test set. Row numbers are zero-based. */
export interface ContaminatedRow {
	readonly row: number;
	/** Test set name, and row number in the test set. */
	readonly against: string;
	readonly test: number;
	/** Consecutive words shared by both rows. */
	readonly words: string;
}

export interface DatasetReport {
	readonly facts: DatasetFacts;
	readonly duplicates: Duplicates;
	readonly compared: ComparedRows;
	/** Number of rows after deduplication, which keeps the first row of each group of duplicates. */
	readonly distinct: number;
	/** Contaminated rows, limited to the first 100,000. */
	readonly contaminated: readonly ContaminatedRow[];
	/** For each test set, the number of rows, of rows too short to search for, and of overlapping rows. */
	readonly against: readonly {
		readonly name: string;
		readonly rows: number;
		readonly tooShort: number;
		readonly overlaps: number;
	}[];
}

/** Maximum number of overlaps to keep individually; all overlaps are counted. */
const maxKept = 100_000;

/** Computes statistics, duplicates, and test set overlaps row by row, in bounded memory. */
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

	/** @param row row number; must be greater than the previous one */
	add(row: number, counted: CountedRow & { readonly prompt: string }): void {
		const { prompt, solution } = counted;
		const words = this.#words.read(prompt);
		this.#facts.add(counted, words);
		this.#duplicates.add(row, words);
		for (const [i, { name, index }] of this.#tests.entries()) {
			// Either the prompt or the solution can quote the test.
			const found = index.find(prompt) ?? (solution === null ? null : index.find(solution));
			if (found === null) continue;
			(this.#overlaps[i] as number)++;
			if (this.#contaminated.length < maxKept)
				this.#contaminated.push({ row, against: name, test: found.test, words: found.words });
			break;
		}
	}

	/** Yields periodically so that the caller can do other work. */
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
