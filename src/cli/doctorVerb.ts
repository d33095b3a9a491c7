import { resolve } from 'node:path';
import { examine } from '../environment/doctor/doctor.ts';
import type { CheckRow, CheckStatus } from '../protocol/torchEnvironment.ts';
import { sandboxVariable } from '../rewards/sandbox/sandboxMode.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

const options = {
	python: { type: 'string' },
	folder: { type: 'string' },
	selected: { type: 'string' },
	sandbox: { type: 'string' },
	quick: { type: 'boolean' },
} as const;

export const doctorVerb: Verb = {
	name: 'doctor',
	usage: '[--quick]',
	summary: 'Look at what the PyTorch engine needs, and say what to do about each.',
	options: [
		['--python PATH', 'Look at this Python, or the one of this environment (default: the one that runs use).'],
		['--folder FOLDER', 'Where the managed environment lies (default: the data folder).'],
		['--selected PATH', 'A Python to take when no other is named and it has torch and TRL.'],
		[
			'--sandbox MODE',
			`auto, bubblewrap, container:IMAGE or unsafe (default: ${sandboxVariable} of the environment, else auto).`,
		],
		['--quick', 'Import nothing: versions alone, in less than a second.'],
	],
	async run({ args, output }) {
		const { values } = parseArguments('doctor', args, options, { names: [], least: 0, most: 0 });
		const abort = new AbortController();
		const stop = onInterrupt(() => abort.abort());
		try {
			const report = await examine({
				python: values.python ?? null,
				namedBy: '--python or the setting reasoningLab.pytorch.python',
				folder: values.folder === undefined ? null : resolve(values.folder),
				selected: async () => values.selected ?? null,
				...(values.sandbox === undefined ? {} : { sandbox: values.sandbox }),
				quick: values.quick ?? false,
				signal: abort.signal,
				onProgress: (message) => {
					output.object({ kind: 'progress', message });
					if (output.isTerminal) output.note(`Looking at ${message}`);
				},
			});
			for (const row of report.rows) output.object({ kind: 'row', ...row });
			const { rows, ...rest } = report;
			output.object({ kind: 'report', ...rest, ...counts(rows) });
			showRows(rows, output);
			return rows.some(({ status }) => status === 'error') ? 1 : 0;
		} finally {
			stop();
		}
	},
};

const words: Readonly<Record<CheckStatus, string>> = {
	ok: 'ok',
	warning: 'WARNING',
	error: 'ERROR',
	unknown: 'unknown',
	absent: '-',
};

function showRows(rows: readonly CheckRow[], output: CliOutput): void {
	const width = Math.max(...rows.map(({ check }) => check.length));
	for (const { check, status, found, action } of rows) {
		output.line(`${check.padEnd(width)}  ${words[status].padEnd(7)}  ${printable(found)}`);
		if (action !== null) output.line(`${' '.repeat(width + 11)}${printable(action)}`);
	}
	const { errors, warnings } = counts(rows);
	output.line('');
	output.line(errors + warnings === 0 ? 'All is well.' : `${errors} errors, ${warnings} warnings`);
}

function counts(rows: readonly CheckRow[]): { readonly errors: number; readonly warnings: number } {
	const of = (wanted: CheckStatus) => rows.filter(({ status }) => status === wanted).length;
	return { errors: of('error'), warnings: of('warning') };
}
