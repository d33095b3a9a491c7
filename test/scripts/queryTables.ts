import { indexViews } from '../../src/protocol/indexViews.ts';

/** Returns a section for each view in the rollout index. */
export function queryTables(): Record<string, string> {
	const sections = indexViews.map(({ name, rows, columns }) => {
		const lines = columns.map(
			(column) => `| \`${column.name}\` | ${column.type} | ${column.meaning.replaceAll('|', '\\|')} |`,
		);
		return [
			`### ${name}`,
			'',
			`Each row is ${rows}.`,
			'',
			'| column | type | meaning |',
			'|---|---|---|',
			...lines,
		].join('\n');
	});
	return { views: sections.join('\n\n') };
}
