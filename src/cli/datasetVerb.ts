import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { type DatasetColumns, defaultColumns, parseDataset, parseDatasetRow } from '../core/dataset/datasetRows.ts';
import { type DatasetReport, datasetReport } from '../core/dataset/hygiene/datasetReport.ts';
import type { LengthFacts } from '../core/dataset/hygiene/statistics.ts';
import type { Problem } from '../core/dataset/problem.ts';
import { readDataFile } from '../runs/openDataset.ts';
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
		['--prompt <column>', 'column of the prompt (default prompt)'],
		['--answer <column>', 'column of the answer (default answer)'],
		['--solution <column>', 'column of a worked solution (default solution)'],
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
		const columns: DatasetColumns = {
			prompt: values.prompt ?? defaultColumns.prompt,
			answer: values.answer ?? defaultColumns.answer,
			solution: values.solution ?? defaultColumns.solution,
		};
		const problems = await read(file, columns);
		const tests = await Promise.all(
			(values.against ?? []).map(async (path) => ({ name: basename(path), problems: await read(path, columns) })),
		);
		const report = datasetReport(problems, tests);
		output.object({ file: resolve(file), ...report });
		for (const line of linesOf(basename(file), report, problems)) output.line(printable(line));
		return report.contaminated.length > 0 ? 1 : 0;
	},
};

async function read(path: string, columns: DatasetColumns): Promise<Problem[]> {
	if (!/\.(json|csv|tsv|parquet)$/i.test(path)) {
		return parseDataset(await readDataFile(resolve(path)), basename(path), columns);
	}
	const { openTable } = await import('../runs/dataset/openTable.ts');
	const table = await openTable(resolve(path));
	const problems: Problem[] = [];
	try {
		for await (const { row, value, fault } of table.scan()) {
			const parsed = value === null ? null : parseDatasetRow(value, row + 1, columns);
			if (parsed?.kind === 'row') problems.push(parsed.problem);
			else {
				const why = parsed === null ? (fault ?? 'cannot be read') : parsed.fault.message;
				throw new Failure('invalid', `${basename(path)}, row ${row + 1}, ${why}.`, parsed?.fault.action);
			}
		}
	} finally {
		await table.close();
	}
	if (problems.length > 0) return problems;
	throw new Failure('invalid', `${basename(path)} has no rows.`, 'Name another file.');
}

function linesOf(name: string, report: DatasetReport, problems: readonly Problem[]): string[] {
	const { facts, duplicates, distinct, contaminated, against } = report;
	const kinds = facts.answerKinds.map(([kind, rows]) => `${kind} ${rows}`).join(', ');
	const first = (row: number) => JSON.stringify((problems[row]?.prompt ?? '').slice(0, 60));
	const groups = (title: string, list: readonly (readonly number[])[]) =>
		list.length === 0
			? []
			: [
					`${title}: ${list.length} ${list.length === 1 ? 'group' : 'groups'}`,
					...list
						.slice(0, mostShown)
						.map((rows) => `  rows ${rows.map((r) => r + 1).join(', ')}: ${first(rows[0] as number)}`),
					...more(list.length),
				];
	return [
		`${name}: ${facts.rows} ${facts.rows === 1 ? 'row' : 'rows'}, ${distinct} distinct, ${facts.vocabulary} different words in prompts`,
		`  prompt    ${lengths(facts.prompt)}`,
		...(facts.answer === null ? [] : [`  answer    ${lengths(facts.answer)} (${kinds})`]),
		...(facts.solution === null ? [] : [`  solution  ${lengths(facts.solution)}, in ${facts.withSolution} rows`]),
		...groups('The same', duplicates.exact),
		...groups('Nearly the same', duplicates.near),
		...against.map(({ name: test, rows, tooShort }) => {
			const found = contaminated.filter((row) => row.against === test).length;
			const short = tooShort === 0 ? '' : `; ${tooShort} of its rows have fewer than 3 words and were not looked for`;
			return `Against ${test} (${rows} rows): ${found === 0 ? 'no overlap' : `${found} rows overlap`}${short}`;
		}),
		...contaminated
			.slice(0, mostShown)
			.map(
				({ row, against: test, test: index, words }) => `  row ${row + 1} has of ${test}, row ${index + 1}: "${words}"`,
			),
		...more(contaminated.length),
	];
}

function more(all: number): string[] {
	return all > mostShown ? [`  and ${all - mostShown} more (--json has all)`] : [];
}

function lengths({ least, median, mean, p95, most }: LengthFacts): string {
	return `${least} to ${most} characters, median ${median}, mean ${mean.toFixed(1)}, 95 % up to ${p95}`;
}
