import { labViews } from '../../src/protocol/labViews.ts';

/** The views of the lab index, a section each. */
export function queryTables(): Record<string, string> {
	const sections = labViews.map(({ name, rows, columns }) => {
		const lines = columns.map(
			(column) => `| \`${column.name}\` | ${column.type} | ${column.meaning.replaceAll('|', '\\|')} |`,
		);
		return [`### ${name}`, '', `A row is ${rows}.`, '', '| column | type | meaning |', '|---|---|---|', ...lines].join(
			'\n',
		);
	});
	return { views: sections.join('\n\n') };
}
