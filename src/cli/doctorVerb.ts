import { resolve } from 'node:path';
import { formatCounted } from '../base/format.ts';
import { examine } from '../environment/doctor/doctor.ts';
import type { CheckRow, CheckStatus } from '../protocol/torchEnvironment.ts';
import { sandboxVariable } from '../rewards/sandbox/sandboxMode.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, type Options, path, text } from './options.ts';
import { defineVerb } from './verb.ts';

const options = {
	python: path('PATH', 'Python executable or environment to check (default: the one used for runs).'),
	folder: path('FOLDER', 'Managed environment folder (default: in the data folder).'),
	selected: path('PATH', 'Fallback Python interpreter, used if it has torch and TRL.'),
	sandbox: text(
		'MODE',
		`auto, bubblewrap, container:IMAGE, or unsafe (default: the environment variable ${sandboxVariable}, else auto).`,
	),
	quick: flag('Check versions only, without importing anything. Takes less than a second.'),
} as const satisfies Options;

export const doctorVerb = defineVerb({
	name: 'doctor',
	group: 'Setup',
	summary: 'Check engine requirements and devices, and show a fix for each problem.',
	options,
	async run({ values, output, engine }) {
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
				engine,
				signal: abort.signal,
				onProgress: (message) => {
					output.object({ kind: 'progress', message });
					if (output.isTerminal) output.note(`Checking ${message}`);
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
});

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
	output.line(
		errors + warnings === 0
			? 'No problems found.'
			: `${formatCounted(errors, 'error')}, ${formatCounted(warnings, 'warning')}`,
	);
}

function counts(rows: readonly CheckRow[]): { readonly errors: number; readonly warnings: number } {
	const of = (wanted: CheckStatus) => rows.filter(({ status }) => status === wanted).length;
	return { errors: of('error'), warnings: of('warning') };
}
