import * as v from 'valibot';
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
		const table = await openTable(file);
		try {
			await table.index(signal);
			const rows = await table.rows(cursor, cursor + limit);
			const end = cursor + rows.length;
			return {
				path: file,
				format: table.format,
				rows: table.rowCount,
				items: rows.map(({ row, line, value, fault }) => ({
					row,
					line,
					...(fault === null ? { values: quote(JSON.stringify(value), characters) } : { error: fault }),
				})),
				...(end < table.rowCount ? { next_cursor: end } : {}),
			};
		} finally {
			await table.close();
		}
	},
});
