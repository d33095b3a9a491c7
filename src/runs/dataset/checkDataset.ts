import { basename } from 'node:path';
import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { parseDatasetRow } from '../../core/dataset/datasetRows.ts';
import { DatasetCounter, type DatasetReport } from '../../core/dataset/hygiene/datasetReport.ts';
import {
	type ColumnMapping,
	datasetColumns,
	guessMapping,
	type NamedColumns,
	withNamed,
} from '../../core/dataset/table/columnMapping.ts';
import { inTurns } from '../../files/turns.ts';
import type { OnWalk } from './dataTable.ts';
import { rowsOf } from './exportRows.ts';
import { openTable } from './openTable.ts';
import { problemOf } from './problemRows.ts';
import { sampleTable } from './sampleTable.ts';
import { openTests } from './walkOverlaps.ts';

export interface CheckedDataset extends DatasetReport {
	readonly columns: ColumnMapping;
	/** Reasons for guessing these columns. */
	readonly because: readonly string[];
	/** Prompt of the first row in each duplicate group, for the first few groups in the report. */
	readonly prompts: ReadonlyMap<number, string>;
}

/** Maximum number of duplicate groups of each type whose prompts are reported. */
const maxReported = 10;

/**
 * Reads a dataset once, in bounded memory. Fails with `invalid` if there are no rows, or at the first row that a recipe
 * would reject; the message then names the file and the row. Fails with `cancelled` when the signal fires.
 * @param against paths of test sets
 */
export async function checkDataset(
	path: string,
	named: NamedColumns,
	against: readonly string[],
	{ signal, onWalk }: { signal?: AbortSignalLike; onWalk?: OnWalk } = {},
): Promise<CheckedDataset> {
	const name = basename(path);
	const table = await openTable(path);
	try {
		const { columns: found, values } = await sampleTable(table);
		const { because, ...guessed } = guessMapping(found, values);
		const mapping = withNamed(guessed, named);
		const columns = datasetColumns(mapping);
		const tests = [];
		for (const one of against) tests.push(await openTests(one, signal, named.prompt));
		const counter = new DatasetCounter(tests);
		let rows = 0;
		// Here, columns are specified as command-line options.
		const reading = { name, nameColumn: (role: string) => `Specify the column with --${role}.` };
		for await (const read of table.scan(signal, onWalk)) {
			counter.add(read.row, problemOf(read, columns, reading));
			rows++;
		}
		if (rows === 0) throw new Failure('invalid', `${name} has no rows.`, 'Choose another file.');
		const report = await inTurns(counter.report(), signal);
		const { exact, near } = report.duplicates;
		const firsts = [...exact.slice(0, maxReported), ...near.slice(0, maxReported)].map(([row = 0]) => row);
		const prompts = new Map<number, string>();
		for (const { row, value } of await rowsOf(
			table,
			[...new Set(firsts)].toSorted((a, b) => a - b),
		)) {
			const parsed = value === null ? null : parseDatasetRow(value, row + 1, columns);
			if (parsed?.kind === 'row') prompts.set(row, parsed.problem.prompt);
		}
		return { ...report, columns: mapping, because, prompts };
	} finally {
		await table.close();
	}
}
