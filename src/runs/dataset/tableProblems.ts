import { Failure } from '../../base/failure.ts';
import { columnCell } from '../../core/dataset/columnCell.ts';
import { parseDatasetRow } from '../../core/dataset/datasetRows.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import { datasetColumns, guessMapping, type NamedColumns, withNamed } from '../../core/dataset/table/columnMapping.ts';
import type { TableRow } from '../../core/dataset/table/tableRow.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { DataTable } from './dataTable.ts';
import { openTable } from './openTable.ts';
import { placeOf } from './problemRows.ts';
import { sampleTable } from './sampleTable.ts';

/** Maximum number of rows to read when looking for the first problems. */
const maxPassed = 50_000;

/** Returns the problem in a row, or the reason there is none. */
export type RowReader = (row: TableRow) => Problem | string;

export const openRows = (path: string): Promise<DataTable> => openTable(path, { anyName: true });
/** 1-based number: the line in line-based files, otherwise the row. */
export const numberOf = ({ line, row }: TableRow): number => line ?? row + 1;

/**
 * Returns a reader that uses the named columns and guesses the others. Rows without an answer yield a problem without
 * one.
 */
export async function columnReader(table: DataTable, named: NamedColumns): Promise<RowReader> {
	const { columns: found, values } = await sampleTable(table);
	const columns = datasetColumns(withNamed(guessMapping(found, values, false), named));
	return ({ row, value, fault, bare }) => {
		if (value === null || bare) return bare ? 'is not a JSON object' : (fault ?? 'cannot be read');
		const lacking = columnCell(value, columns.answer) === undefined;
		// A column that the user named explicitly must exist. If it does not, the user meant a different column.
		if (lacking && named.answer !== undefined && named.answer !== 'answer') {
			return `has no column ${JSON.stringify(named.answer)}`;
		}
		const isQuestion = lacking && columnCell(value, columns.prompt) !== undefined;
		const parsed = parseDatasetRow(isQuestion ? { ...value, [columns.answer]: null } : value, row + 1, columns);
		return parsed.kind === 'row' ? parsed.problem : parsed.fault.message;
	};
}

/**
 * Returns the first `limit` rows that contain a problem, with their locations, searching only the start of the file.
 * Fails with `missing` or `invalid`.
 */
export async function firstProblems(path: string, limit: number): Promise<{ place: string; problem: SearchProblem }[]> {
	const found: { place: string; problem: SearchProblem }[] = [];
	const table = await openRows(path);
	try {
		const read = await columnReader(table, {});
		let passed = 0;
		for await (const row of table.scan()) {
			const problem = read(row);
			if (typeof problem !== 'string') found.push({ place: placeOf(row), problem: searchProblem(problem) });
			if (found.length >= limit || ++passed >= maxPassed) break;
		}
	} finally {
		await table.close();
	}
	if (found.length > 0) return found;
	throw new Failure(
		'invalid',
		`${path} has no rows with a problem.`,
		'Rename the problem column to "prompt" or "question".',
	);
}

export const searchProblem = ({ prompt, answer, row }: Problem): SearchProblem => ({
	prompt,
	answer,
	row: row as Record<string, unknown>,
});
