import type { Problem } from '../problem.ts';
import { ContaminationIndex } from './contamination.ts';
import { type Duplicates, findDuplicates } from './nearDuplicates.ts';
import { type DatasetFacts, datasetFacts } from './statistics.ts';

export interface TestSet {
	readonly name: string;
	readonly problems: readonly Problem[];
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
	/** Rows that the data would have without all but the first of each group of duplicates. */
	readonly distinct: number;
	readonly contaminated: readonly ContaminatedRow[];
	/** Of each test set: its rows, and those too short to be looked for. */
	readonly against: readonly { readonly name: string; readonly rows: number; readonly tooShort: number }[];
}

/** What a dataset is like, what it has twice, and which rows overlap with test sets. @param problems at least one */
export function datasetReport(problems: readonly Problem[], testSets: readonly TestSet[]): DatasetReport {
	const duplicates = findDuplicates(problems.map(({ prompt }) => prompt));
	const indexes = testSets.map(({ name, problems: tests }) => {
		const index = new ContaminationIndex();
		for (const [i, { prompt }] of tests.entries()) index.add(prompt, i);
		return { name, index, rows: tests.length };
	});
	const contaminated = problems.flatMap(({ prompt, solution }, row) => {
		for (const { name, index } of indexes) {
			// A solution may quote the test as well as the prompt does.
			const found = index.find(prompt) ?? (solution === null ? null : index.find(solution));
			if (found !== null) return [{ row, against: name, test: found.test, words: found.words }];
		}
		return [];
	});
	const superfluous = [...duplicates.exact, ...duplicates.near].reduce((sum, group) => sum + group.length - 1, 0);
	return {
		facts: datasetFacts(problems),
		duplicates,
		distinct: problems.length - superfluous,
		contaminated,
		against: indexes.map(({ name, index, rows }) => ({ name, rows, tooShort: index.tooShort })),
	};
}
