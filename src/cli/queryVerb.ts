import { formatBytes, formatCounted } from '../base/format.ts';
import { spreadsheetText } from '../core/text/spreadsheetText.ts';
import type { ResultTable } from '../protocol/rolloutIndex.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, integer } from './options.ts';
import { defineVerb } from './verb.ts';

const defaultLimit = 1000;
const widestColumn = 60;

export const queryVerb = defineVerb({
	name: 'query',
	group: 'Runs',
	usage: '<folder> "<SQL>" [options]',
	arguments: [
		{ name: 'folder', phrase: 'a folder', type: 'path' },
		{ name: 'sql', phrase: 'a statement', type: 'text' },
	],
	summary: 'Query rollouts and metrics from a run, or from all runs in a folder, with SQL (docs/queries.md).',
	options: {
		limit: integer('N', `Max rows (default: ${defaultLimit}).`),
		csv: flag('Print CSV with a header row.'),
		timeout: integer('S', 'Query timeout in seconds (default: 60).'),
		'no-index': flag('Do not save an index for later queries.'),
	},
	async run({ values, positionals, output }) {
		const [folder, sql] = positionals as [string, string];
		const limit = values.limit ?? defaultLimit;
		const timeoutMs = (values.timeout ?? 60) * 1000;
		const controller = new AbortController();
		const off = onInterrupt(() => controller.abort());
		const draws = output.isTerminal && !values.csv;
		let drawn = false;
		try {
			const { queryFolder } = await import('../rolloutIndex/queryFolder.ts');
			const { table, runs, cut, message } = await queryFolder({
				folder,
				sql,
				limit,
				timeoutMs,
				inMemory: values['no-index'] === true,
				signal: controller.signal,
				onProgress: ({ state, done, total }, number, all) => {
					if (!draws || (state !== 'indexing' && !drawn)) return;
					drawn = state === 'indexing';
					const of = total > 1e6 ? `${formatBytes(done)} of ${formatBytes(total)}` : `${done} of ${total}`;
					output.draw(`\r\u001b[K${drawn ? `run ${number} of ${all}: ${of}` : ''}`);
				},
				// Report the failure first; a graceful exit would wait for the query to finish.
				onStuck: () => setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500),
			});
			const notes = [
				...(message === null ? [] : [message]),
				...runs.flatMap((run) => {
					if (run.state === 'failed') return [`Cannot read ${run.run}: ${run.message}`];
					if (run.skipped === 0) return [];
					const records = formatCounted(run.skipped, 'record');
					return [`${run.run}: could not read ${records} (${run.message}).`];
				}),
				...(cut ? ['Some folders were not searched for runs.'] : []),
				...(table.truncated
					? [`Only ${formatCounted(table.rows.length, 'row is', 'rows are')} shown; use --limit to show more.`]
					: []),
			];
			if (output.json) {
				const { columns, rows, truncated, millis } = table;
				output.object({ columns, rows, truncated, millis, runs });
			} else if (values.csv) {
				// Text is sanitized for terminals but written verbatim to files and pipes.
				for (const line of csvLines(table)) output.document(output.isTerminal ? printable(line) : line);
			} else {
				for (const line of tableLines(table)) output.line(line);
			}
			for (const note of notes) process.stderr.write(`reasoning-lab: ${printable(note)}\n`);
			return runs.every(({ state }) => state === 'failed') ? 1 : 0;
		} finally {
			off();
		}
	},
});

/**
 * Formats rows as CSV (RFC 4180 except for line endings). Text that a spreadsheet would run as a formula is prefixed
 * with an apostrophe.
 */
export function* csvLines({ columns, rows }: Pick<ResultTable, 'columns' | 'rows'>): Generator<string> {
	const field = (value: unknown): string => {
		const text = value === null ? '' : typeof value === 'string' ? spreadsheetText(value) : String(value);
		return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
	};
	yield columns.map(({ name }) => field(name)).join(',');
	for (const row of rows) yield row.map(field).join(',');
}

/** Formats rows as an aligned table. Numbers are right-aligned and long strings are truncated. */
export function* tableLines({ columns, rows }: Pick<ResultTable, 'columns' | 'rows'>): Generator<string> {
	const text = (value: unknown): string => {
		const whole = value === null ? '-' : printable(typeof value === 'number' ? numberText(value) : String(value));
		return whole.length <= widestColumn ? whole : `${whole.slice(0, widestColumn - 1)}…`;
	};
	const cells = [columns.map(({ name }) => text(name)), ...rows.map((row) => row.map(text))];
	const widths = columns.map((_, i) => Math.max(...cells.map((row) => (row[i] as string).length)));
	const right = columns.map((_, i) => rows.every((row) => row[i] === null || typeof row[i] === 'number'));
	const line = (row: readonly string[]) =>
		row
			.map((cell, i) => (right[i] ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
			.join('  ')
			.trimEnd();
	yield line(cells[0] as string[]);
	yield widths.map((width) => '─'.repeat(width)).join('  ');
	for (const row of cells.slice(1)) yield line(row);
}

function numberText(value: number): string {
	return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}
