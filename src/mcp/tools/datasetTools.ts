import * as v from 'valibot';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { checkDataset } from '../../runs/dataset/checkDataset.ts';
import { openTable } from '../../runs/dataset/openTable.ts';
import { quote } from '../answer.ts';
import * as input from '../inputs.ts';
import { defineTool } from '../tool.ts';

export const readDataset = defineTool({
	name: 'read_dataset',
	title: 'Read a dataset',
	description:
		'Read rows from a dataset file (JSONL, JSON, CSV, TSV, Parquet, Arrow, or a save_to_disk folder) inside the server folders, page by page.',
	input: v.object({
		path: input.text('Absolute path, or relative to a server folder.'),
		characters: input.characters,
		limit: input.limit(10),
		cursor: input.cursor,
	}),
	async run({ path, characters, limit, cursor }, { runs, signal }) {
		const file = await runs.fileWithin(path);
		const address = datasetAddress(runs.relativePath(file));
		const table = await openTable(file);
		try {
			await table.index(signal);
			const rows = await table.rows(cursor, cursor + limit);
			const end = cursor + rows.length;
			return {
				path: file,
				address: address(null),
				format: table.format,
				rows: table.rowCount,
				items: rows.map(({ row, line, value, fault }) => ({
					row,
					line,
					address: address(row),
					...(fault === null ? { values: quote(JSON.stringify(value), characters) } : { error: fault }),
				})),
				...(end < table.rowCount ? { next_cursor: end } : {}),
			};
		} finally {
			await table.close();
		}
	},
});

/** Returns the addresses of a dataset file and of its rows. */
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
