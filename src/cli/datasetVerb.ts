import { basename, resolve } from 'node:path';
import { formatCounted } from '../base/format.ts';
import type { LengthFacts } from '../core/dataset/hygiene/statistics.ts';
import { datasetParts } from '../protocol/datasetPart.ts';
import type { CheckedDataset } from '../runs/dataset/checkDataset.ts';
import { printable } from './cliOutput.ts';
import { choice, flag, group, integer, type Options, path, repeatable, text } from './options.ts';
import { defineVerb } from './verb.ts';

/** Maximum number of groups and rows printed; `--json` includes all of them. */
const maxShown = 10;

const actions = ['check', 'export', 'fetch'] as const;

const options = {
	...group('check', {
		against: repeatable(
			path(
				'FILE',
				'Test set. Lists the rows that share ten consecutive words with the test set and exits with status 1 if there are any.',
			),
		),
		prompt: text('COLUMN', 'Prompt column (default: detected by name and content).'),
		answer: text('COLUMN', 'Answer column (default: detected).'),
		solution: text('COLUMN', 'Worked solution column (default: detected).'),
	}),
	...group('export and fetch', {
		rows: integer('N', 'Number of rows (default: 1000 for export, all rows for fetch).'),
		out: path('FILE', 'Output file. Required.'),
		replace: flag('Replace an existing file.'),
	}),
	...group('export: task name, {"task": NAME, ...}, or recipe', {
		part: choice(datasetParts, 'PART', 'Split to export (default: training).'),
		seed: integer('S', 'Run seed that selects the training problems (default: 0).'),
	}),
	...group('fetch: uses the network and the Python environment of the PyTorch engine', {
		config: text('NAME', 'Dataset configuration.'),
		split: text('NAME', 'Dataset split (default: train).'),
	}),
} as const satisfies Options;

export const datasetVerb = defineVerb({
	name: 'dataset',
	group: 'Data',
	usage: 'check|export|fetch <file, task, or Hub ID> [options]',
	arguments: [
		{ name: 'action', phrase: '"check", "export" or "fetch"', type: actions },
		{ name: 'file', phrase: 'a file', type: 'path' },
	],
	summary:
		'Check a dataset for duplicates and test contamination, export problems from a task or recipe as JSONL, or download rows from the Hugging Face Hub.',
	options,
	async run({ values, positionals, output }) {
		const [what, file] = positionals as [string, string];
		if (what === 'export') {
			const { exportProblems } = await import('./datasetExport.ts');
			await exportProblems(file, values, output);
			return 0;
		}
		if (what === 'fetch') {
			const { fetchDataset } = await import('./datasetFetch.ts');
			await fetchDataset(file, values, output);
			return 0;
		}
		const { checkDataset } = await import('../runs/dataset/checkDataset.ts');
		const { prompt, answer, solution } = values;
		const against = (values.against ?? []).map((path) => resolve(path));
		const report = await checkDataset(resolve(file), { prompt, answer, solution }, against);
		const { prompts: _, ...shown } = report;
		output.object({ file: resolve(file), ...shown });
		for (const line of linesOf(basename(file), report)) output.line(printable(line));
		return report.contaminated.length > 0 ? 1 : 0;
	},
});

function linesOf(name: string, report: CheckedDataset): string[] {
	const { facts, duplicates, compared, distinct, contaminated, against, columns, because, prompts } = report;
	const kinds = facts.answerKinds.map(([kind, rows]) => `${kind} ${rows}`).join(', ');
	const first = (row: number) => JSON.stringify((prompts.get(row) ?? '').slice(0, 60));
	const groups = (title: string, list: readonly (readonly number[])[]) =>
		list.length === 0
			? []
			: [
					`${title}: ${formatCounted(list.length, 'group')}`,
					...list.slice(0, maxShown).map((rows) => `  rows ${numbers(rows)}: ${first(rows[0] as number)}`),
					...more(list.length),
				];
	const words = `${facts.vocabularyFull ? 'more than ' : ''}${facts.vocabulary}`;
	const usual = (['prompt', 'answer', 'solution'] as const).every((role) => (columns[role] ?? role) === role);
	return [
		`${name}: ${formatCounted(facts.rows, 'row')}, ${distinct} distinct, ${words} distinct words in prompts`,
		...(usual && columns.preset === null ? [] : because.map((reason) => `  ${reason}`)),
		...(facts.prompt === null ? [] : [`  prompt    ${lengths(facts.prompt)}`]),
		...(facts.answer === null ? [] : [`  answer    ${lengths(facts.answer)} (${kinds})`]),
		...(facts.solution === null
			? []
			: [`  solution  ${lengths(facts.solution)}, in ${formatCounted(facts.withSolution, 'row')}`]),
		...groups('Exact duplicates', duplicates.exact),
		...groups('Near duplicates', duplicates.near),
		...(compared.complete
			? []
			: [
					`Near duplicates: searched only the first ${compared.near} distinct rows${compared.allExact ? '' : '; exact duplicates: only the first 10,000,000'}.`,
				]),
		...against.map(({ name: test, rows, tooShort, overlaps }) => {
			const short = tooShort === 0 ? '' : `; ${tooShort} of its rows have fewer than 3 words and were not checked`;
			return `Against ${test} (${formatCounted(rows, 'row')}): ${overlaps === 0 ? 'no overlap' : formatCounted(overlaps, 'row overlaps', 'rows overlap')}${short}`;
		}),
		...contaminated
			.slice(0, maxShown)
			.map(
				({ row, against: test, test: index, words }) =>
					`  row ${row + 1} overlaps with row ${index + 1} of ${test}: "${words}"`,
			),
		...more(against.reduce((sum, { overlaps }) => sum + overlaps, 0)),
	];
}

/** Formats 1-based row numbers, truncated because a group can have a million rows. */
function numbers(rows: readonly number[]): string {
	const shown = rows.slice(0, 20).map((row) => row + 1);
	return `${shown.join(', ')}${rows.length > shown.length ? ` and ${rows.length - shown.length} more` : ''}`;
}

function more(all: number): string[] {
	return all > maxShown ? [`  and ${all - maxShown} more (use --json for all)`] : [];
}

function lengths({ least: min, median, mean, p95, most: max }: LengthFacts): string {
	return `${min} to ${max} characters, median ${median}, mean ${mean.toFixed(1)}, p95 ${p95}`;
}
