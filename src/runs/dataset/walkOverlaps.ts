import { basename } from 'node:path';
import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { ContaminationIndex } from '../../core/dataset/hygiene/contamination.ts';
import { type ColumnMapping, guessMapping } from '../../core/dataset/table/columnMapping.ts';
import { rolesOf } from '../../core/dataset/table/rowRoles.ts';
import type { DatasetFinding } from '../../protocol/datasetMessages.ts';
import type { DataTable, OnWalk } from './dataTable.ts';
import { openTable } from './openTable.ts';
import { sampleTable } from './sampleTable.ts';

/** Test sets with more rows than this do not fit in memory. */
const maxTests = 200_000;

/** Index of a test set for finding shared words. */
export interface TestIndex {
	readonly path: string;
	readonly name: string;
	readonly rows: number;
	readonly tooShort: number;
	readonly index: ContaminationIndex;
}

/**
 * Reads a test set. Fails with `invalid` if it has no prompts, and with `unsupported`.
 * @param column prompt column, used if the test set has it; otherwise columns are guessed
 */
export async function openTests(path: string, signal?: AbortSignalLike, column?: string): Promise<TestIndex> {
	const name = basename(path);
	const table = await openTable(path);
	try {
		const { columns, values } = await sampleTable(table);
		const guessed = guessMapping(columns, values);
		const named = column !== undefined && columns.some(({ name }) => name === column);
		const mapping = named ? { prompt: column, answer: null, solution: null, preset: null } : guessed;
		const index = new ContaminationIndex();
		let rows = 0;
		for await (const { row, value } of table.scan(signal)) {
			const prompt = value === null ? null : rolesOf(value, mapping).prompt;
			if (prompt === null) continue;
			if (++rows > maxTests) {
				throw new Failure(
					'unsupported',
					`${name} has more than ${maxTests} rows.`,
					'Split the test set into several files.',
				);
			}
			index.add(prompt, row);
		}
		if (rows === 0)
			throw new Failure('invalid', `${name} has no prompts to compare.`, 'Choose a test set with questions.');
		return { path, name, rows, tooShort: index.tooShort, index };
	} finally {
		await table.close();
	}
}

/**
 * Returns the rows whose prompt or solution shares words with a test set, as `dataset check` does, each with its first
 * overlap. Fails with `cancelled`.
 */
export async function walkOverlaps(
	table: DataTable,
	mapping: ColumnMapping,
	tests: readonly TestIndex[],
	{ signal, onWalk }: { signal?: AbortSignalLike; onWalk?: OnWalk } = {},
): Promise<ReadonlyMap<number, DatasetFinding>> {
	const found = new Map<number, DatasetFinding>();
	for await (const { row, value } of table.scan(signal, onWalk)) {
		if (value === null) continue;
		const { prompt, solution } = rolesOf(value, mapping);
		for (const { name, index } of tests) {
			const overlap =
				(prompt === null ? null : index.find(prompt)) ?? (solution === null ? null : index.find(solution));
			if (overlap === null) continue;
			found.set(row, { row, against: name, test: overlap.test, words: overlap.words });
			break;
		}
	}
	return found;
}
