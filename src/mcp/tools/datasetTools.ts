import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { conditionOperators, maxConditions, noFilter } from '../../protocol/datasetMessages.ts';
import { checkDataset } from '../../runs/dataset/checkDataset.ts';
import type { DataTable } from '../../runs/dataset/dataTable.ts';
import { rowsOf } from '../../runs/dataset/exportRows.ts';
import { openTable } from '../../runs/dataset/openTable.ts';
import { walkView } from '../../runs/dataset/walkView.ts';
import { quote } from '../answer.ts';
import * as input from '../inputs.ts';
import { defineTool, type ToolContext } from '../tool.ts';

/** Arguments that select and order rows. */
const viewInput = {
	text: v.optional(input.text('Text that at least one column must contain, ignoring case.', 2000), ''),
	where: v.optional(
		input.described(
			v.pipe(
				v.array(
					v.object({
						column: input.text('Column name.', 200),
						operator: v.picklist(conditionOperators),
						value: v.optional(
							input.text('Number or text to compare with; not used for "is empty" and "is not empty".', 2000),
							'',
						),
					}),
				),
				v.maxLength(maxConditions),
			),
			'Conditions on columns.',
		),
		[],
	),
	sort: v.optional(input.text('Column to sort by. Default: file order.', 200)),
	descending: v.optional(v.boolean(), false),
};
type View = v.InferOutput<v.ObjectSchema<typeof viewInput, undefined>>;

/** Number of rows sampled to find the column names that calls can use. */
const sampledRows = 1000;

/**
 * Returns the numbers of the rows that a call selects, in its sort order; null for all rows in file order. Fails with
 * `invalid` for a column that is missing from all sampled rows.
 */
async function viewOf(
	table: DataTable,
	{ text, where, sort, descending }: View,
	{ signal, progress }: Pick<ToolContext, 'signal' | 'progress'>,
): Promise<readonly number[] | null> {
	const order = sort === undefined ? null : { column: sort, descending };
	const named = [...where.map(({ column }) => column), ...(sort === undefined ? [] : [sort])];
	if (named.length > 0) {
		const columns = new Set((await table.rows(0, sampledRows)).flatMap(({ value }) => Object.keys(value ?? {})));
		const unknown = named.find((column) => !columns.has(column));
		if (unknown !== undefined) {
			throw new Failure(
				'invalid',
				`The first ${sampledRows} rows have no column "${unknown}".`,
				`The columns are ${[...columns].slice(0, 50).join(', ')}.`,
			);
		}
	}
	return walkView(table, { ...noFilter, text, conditions: where }, order, {
		marks: () => ({ repeats: false, overlaps: false, heldOut: () => false }),
		complete: (value) => value,
		signal,
		onWalk: (done, total) => progress(done, total, 'Filtering rows'),
	});
}

export const readDataset = defineTool({
	name: 'read_dataset',
	title: 'Read a dataset',
	description:
		'Read rows from a dataset file (JSONL, JSON, CSV, TSV, Parquet, Arrow, or a save_to_disk folder) inside the server folders, page by page: all of them, or those that contain a given text and meet all conditions, in file order or sorted by a column. Filtering or sorting reads the whole file for each page.',
	input: v.object({
		path: input.text('Absolute path, or relative to a server folder.'),
		...viewInput,
		characters: input.characters,
		limit: input.limit(10),
		cursor: input.cursor,
	}),
	async run({ path, characters, limit, cursor, ...view }, { runs, signal, progress }) {
		const file = await runs.fileWithin(path);
		const address = datasetAddress(runs.relativePath(file));
		const table = await openTable(file);
		try {
			await table.index(signal);
			const shown = await viewOf(table, view, { signal, progress });
			const rows =
				shown === null
					? await table.rows(cursor, cursor + limit)
					: await rowsOf(table, shown.slice(cursor, cursor + limit));
			const end = cursor + rows.length;
			return {
				path: file,
				address: address(null),
				format: table.format,
				rows: table.rowCount,
				...(shown === null ? {} : { matching_rows: shown.length }),
				items: rows.map(({ row, line, value, fault }) => ({
					row,
					line,
					address: address(row),
					...(fault === null ? { values: quote(JSON.stringify(value), characters) } : { error: fault }),
				})),
				...(end < (shown?.length ?? table.rowCount) ? { next_cursor: end } : {}),
			};
		} finally {
			await table.close();
		}
	},
});

/** Returns the addresses of a dataset file and its rows. */
const datasetAddress = (path: string) => (row: number | null) =>
	formatAddress({ kind: 'dataset', run: null, path, row });

/** Maximum number of duplicate groups and of contaminated rows per response. */
const maxListed = 20;

export const profileDataset = defineTool({
	name: 'profile_dataset',
	title: 'Profile a dataset',
	description:
		'Profile a dataset file: columns, lengths, answer formats, exact and near duplicates, and overlap with test sets. Reads the whole file.',
	input: v.object({
		path: input.text('Absolute path, or relative to a server folder.'),
		against: v.optional(
			input.described(
				v.pipe(v.array(v.pipe(v.string(), v.maxLength(4096))), v.maxLength(8)),
				'Test set files to search for overlaps.',
			),
			[],
		),
		prompt: v.optional(input.text('Prompt column. Default: detected.', 200)),
		answer: v.optional(input.text('Answer column. Default: detected.', 200)),
		solution: v.optional(input.text('Worked solution column. Default: detected.', 200)),
	}),
	async run({ path, against, prompt, answer, solution }, { runs, signal }) {
		const file = await runs.fileWithin(path);
		const tests = await Promise.all(against.map((test) => runs.fileWithin(test)));
		const address = datasetAddress(runs.relativePath(file));
		const named = { prompt, answer, solution };
		const { facts, duplicates, compared, distinct, contaminated, ...report } = await checkDataset(file, named, tests, {
			signal,
		});
		const { exact, near } = duplicates;
		const first = (groups: readonly (readonly number[])[]) => ({
			groups: groups.length,
			first_groups: groups.slice(0, maxListed).map((rows) => ({
				rows: rows.slice(0, maxListed),
				addresses: rows.slice(0, maxListed).map(address),
				...(rows.length > maxListed ? { more_rows: rows.length - maxListed } : {}),
				prompt: quote(report.prompts.get(rows[0] ?? -1) ?? '', 200),
			})),
		});
		return {
			path: file,
			address: address(null),
			rows: facts.rows,
			distinct_rows: distinct,
			columns: report.columns,
			columns_chosen_because: report.because,
			lengths_in_characters: { prompt: facts.prompt, answer: facts.answer, solution: facts.solution },
			rows_with_solution: facts.withSolution,
			answer_formats: Object.fromEntries(facts.answerKinds),
			distinct_words: facts.vocabulary,
			distinct_words_complete: !facts.vocabularyFull,
			exact_duplicates: first(exact),
			near_duplicates: first(near),
			near_duplicates_complete: compared.complete,
			against: report.against,
			overlaps: contaminated.slice(0, maxListed).map(({ words, ...place }) => ({
				...{ ...place, address: address(place.row) },
				words: quote(words, 400),
			})),
		};
	},
});
