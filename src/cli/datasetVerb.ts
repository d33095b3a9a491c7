import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import type { LengthFacts } from '../core/dataset/hygiene/statistics.ts';
import type { CheckedDataset } from '../runs/dataset/checkDataset.ts';
import { printable } from './cliOutput.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

/** Groups and rows that are printed; `--json` has all. */
const mostShown = 10;

const options = {
	rows: { type: 'string' },
	out: { type: 'string' },
	part: { type: 'string' },
	seed: { type: 'string' },
	config: { type: 'string' },
	split: { type: 'string' },
	replace: { type: 'boolean' },
	against: { type: 'string', multiple: true },
	prompt: { type: 'string' },
	answer: { type: 'string' },
	solution: { type: 'string' },
} as const;

export const datasetVerb: Verb = {
	name: 'dataset',
	usage: 'check <file> [--against <test>]... | export <task|recipe> --rows N --out FILE | fetch <hub id> --out FILE',
	summary:
		'Say what a dataset is like, what it holds twice, and which rows give a test away; write problems, or rows of the hub, as JSONL.',
	options: [
		['--against <file>', 'a test set: rows that share ten words in a row with it are named; status 1 if there are any'],
		['--prompt <column>', 'column of the prompt (default: guessed by its name and by what it holds)'],
		['--answer <column>', 'column of the answer (default: guessed)'],
		['--solution <column>', 'column of a worked solution (default: guessed)'],
		['export', 'problems of a task (a name, or {"task": NAME, ...}) or of a recipe\'s dataset as JSONL'],
		[
			'fetch',
			'rows of a dataset of the Hugging Face hub (--config, --split; default train), by the Python of the PyTorch engine; uses the network',
		],
		[
			'--rows N',
			'how many (export: default 1000, of rows and held-out problems as many as there are; fetch: default all)',
		],
		['--part PART', 'training (default) or held-out problems; --seed S: those that a run with the seed is given'],
		['--out FILE', 'where to; --replace: also over a file that is there'],
	],
	async run({ args, output }) {
		const { positionals, values } = parseArguments('dataset', args, options, {
			names: ['"check", "export" or "fetch"', 'a file'],
			least: 2,
			most: 2,
		});
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
		if (what !== 'check') {
			throw new Failure('invalid', `reasoning-lab dataset cannot "${what}".`, 'See reasoning-lab help dataset.');
		}
		const { checkDataset } = await import('../runs/dataset/checkDataset.ts');
		const { prompt, answer, solution } = values;
		const against = (values.against ?? []).map((path) => resolve(path));
		const report = await checkDataset(resolve(file), { prompt, answer, solution }, against);
		const { prompts: _, ...told } = report;
		output.object({ file: resolve(file), ...told });
		for (const line of linesOf(basename(file), report)) output.line(printable(line));
		return report.contaminated.length > 0 ? 1 : 0;
	},
};

function linesOf(name: string, report: CheckedDataset): string[] {
	const { facts, duplicates, compared, distinct, contaminated, against, columns, because, prompts } = report;
	const kinds = facts.answerKinds.map(([kind, rows]) => `${kind} ${rows}`).join(', ');
	const first = (row: number) => JSON.stringify((prompts.get(row) ?? '').slice(0, 60));
	const groups = (title: string, list: readonly (readonly number[])[]) =>
		list.length === 0
			? []
			: [
					`${title}: ${formatCounted(list.length, 'group')}`,
					...list.slice(0, mostShown).map((rows) => `  rows ${numbers(rows)}: ${first(rows[0] as number)}`),
					...more(list.length),
				];
	const words = `${facts.vocabularyFull ? 'more than ' : ''}${facts.vocabulary}`;
	const usual = (['prompt', 'answer', 'solution'] as const).every((role) => (columns[role] ?? role) === role);
	return [
		`${name}: ${formatCounted(facts.rows, 'row')}, ${distinct} distinct, ${words} distinct words in prompts`,
		...(usual && columns.preset === null ? [] : because.map((reason) => `  ${reason}`)),
		...(facts.prompt === null ? [] : [`  prompt    ${lengths(facts.prompt)}`]),
		...(facts.answer === null ? [] : [`  answer    ${lengths(facts.answer)} (${kinds})`]),
		...(facts.solution === null ? [] : [`  solution  ${lengths(facts.solution)}, in ${facts.withSolution} rows`]),
		...groups('The same', duplicates.exact),
		...groups('Near duplicates', duplicates.near),
		...(compared.complete
			? []
			: [
					`Searched for near duplicates among the first ${compared.near} distinct rows${compared.allExact ? '' : ', for exact ones against the first 10,000,000'}.`,
				]),
		...against.map(({ name: test, rows, tooShort, overlaps }) => {
			const short = tooShort === 0 ? '' : `; ${tooShort} of its rows have fewer than 3 words and were not looked for`;
			return `Against ${test} (${rows} rows): ${overlaps === 0 ? 'no overlap' : `${overlaps} rows overlap`}${short}`;
		}),
		...contaminated
			.slice(0, mostShown)
			.map(
				({ row, against: test, test: index, words }) => `  row ${row + 1} has of ${test}, row ${index + 1}: "${words}"`,
			),
		...more(against.reduce((sum, { overlaps }) => sum + overlaps, 0)),
	];
}

/** Numbers of rows, from 1; a group may have a million. */
function numbers(rows: readonly number[]): string {
	const shown = rows.slice(0, 20).map((row) => row + 1);
	return `${shown.join(', ')}${rows.length > shown.length ? ` and ${rows.length - shown.length} more` : ''}`;
}

function more(all: number): string[] {
	return all > mostShown ? [`  and ${all - mostShown} more (--json has all)`] : [];
}

function lengths({ least, median, mean, p95, most }: LengthFacts): string {
	return `${least} to ${most} characters, median ${median}, mean ${mean.toFixed(1)}, 95% up to ${p95}`;
}
