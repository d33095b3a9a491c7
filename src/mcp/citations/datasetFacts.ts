import { Failure } from '../../base/failure.ts';
import type { DataAddress } from '../../core/address/dataAddress.ts';
import { type CheckedDataset, checkDataset } from '../../runs/dataset/checkDataset.ts';
import { openTable } from '../../runs/dataset/openTable.ts';
import type { Fact, FactContext } from './fact.ts';

/** Larger files are not profiled to check a citation. Only their rows are counted. */
const largestProfiled = 64 << 20;

/**
 * Returns the numbers for a dataset file: those in a row's cells, or the row count and the counts from a profile of the
 * detected columns. Fails with `missing` if there is no such row.
 */
export async function datasetFacts(
	{ path, row }: Extract<DataAddress, { kind: 'dataset' }>,
	{ runs, signal }: FactContext,
): Promise<Fact[]> {
	const file = await runs.fileWithin(path);
	const table = await openTable(file);
	try {
		await table.index(signal);
		const { rowCount, size } = table;
		if (row === null) {
			const small = size !== null && size <= largestProfiled;
			// A file with rows that recipes would reject has no profile.
			const profile = small ? await checkDataset(file, {}, [], { signal }).catch(unlessCancelled) : null;
			return [{ name: 'rows', value: rowCount }, ...(profile === null ? [] : profileFacts(profile))];
		}
		const [read] = row < rowCount ? await table.rows(row, row + 1) : [];
		if (read === undefined)
			throw new Failure('missing', `${path} has only ${rowCount} rows, so row ${row} does not exist.`);
		return read.value === null ? [] : Object.entries(read.value).flatMap(([name, value]) => cellFacts(name, value));
	} finally {
		await table.close();
	}
}

function unlessCancelled(error: unknown): null {
	if (Failure.from(error).reason === 'cancelled') throw error;
	return null;
}

function profileFacts({ facts, distinct, duplicates }: CheckedDataset): Fact[] {
	const lengths = (['prompt', 'answer', 'solution'] as const).flatMap((column) =>
		Object.entries(facts[column] ?? {}).map(([name, value]): [string, unknown] => [`${column}.${name}`, value]),
	);
	const counts: [string, unknown][] = [
		['distinct_rows', distinct],
		['exact_duplicates', duplicates.exact.length],
		['near_duplicates', duplicates.near.length],
		['rows_with_solution', facts.withSolution],
		...(facts.vocabularyFull ? [] : [['distinct_words', facts.vocabulary] as [string, unknown]]),
		...facts.answerKinds.map(([kind, rows]): [string, unknown] => [`answer_formats.${kind}`, rows]),
		...lengths,
	];
	return counts.flatMap(([name, value]) => (typeof value === 'number' ? [{ name, value }] : []));
}

/** Returns the number in a cell, even if it is stored as text, such as the answer "72"; empty if there is none. */
function cellFacts(name: string, value: unknown): Fact[] {
	if (typeof value === 'number') return Number.isFinite(value) ? [{ name, value }] : [];
	if (typeof value !== 'string' || !/^\s*[-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?\s*$/i.test(value.slice(0, 100))) return [];
	const number = Number(value.replaceAll(',', ''));
	return Number.isFinite(number) ? [{ name, value: number }] : [];
}
