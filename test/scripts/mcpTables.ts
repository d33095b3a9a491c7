import { tools } from '../../src/mcp/tools.ts';

/** Returns the tables of tools for docs/mcp.md. */
export function mcpTables(): Record<string, string> {
	const rows = (acting: boolean) =>
		tools
			.filter(({ effect }) => (effect !== 'none' && effect !== 'show') === acting)
			.map(({ name, description }) => `| \`${name}\` | ${description.replaceAll('|', '\\|')} |`);
	const table = (acting: boolean) => ['| tool | |', '|---|---|', ...rows(acting)].join('\n');
	return { tools: table(false), actions: table(true) };
}
