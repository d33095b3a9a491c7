import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatBytes } from '../base/format.ts';
import { reportHtml } from '../core/report/reportHtml.ts';
import { reportMarkdown } from '../core/report/reportMarkdown.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { type ReportPart, readReport, readSeveralReport } from '../runs/report/readReport.ts';
import { anyRun } from './anyRun.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { choice, type Options, path } from './options.ts';
import { defineVerb } from './verb.ts';

const renderers = { html: reportHtml, markdown: reportMarkdown } as const;
type Format = keyof typeof renderers;
const endings: Readonly<Record<Format, string>> = { html: 'html', markdown: 'md' };

const options = {
	out: path(
		'FILE',
		'Output file, overwritten if it exists (default: NAME-report.html in the current folder). Use - for stdout.',
	),
	format: choice(['html', 'markdown'], 'FORMAT', 'Output format (default: from the extension of --out, else html).'),
	part: choice(['evaluations'], 'PART', "Include only the evaluations of a run's checkpoints."),
} as const satisfies Options;

export const reportVerb = defineVerb({
	name: 'report',
	group: 'Runs',
	arguments: [{ name: 'run or pipeline', phrase: 'a run', type: 'path', max: 20 }],
	summary: 'Report the results of a run, several runs, or a pipeline as HTML or Markdown (docs/reports.md).',
	options,
	async run({ values, positionals, output }) {
		const format = values.format ?? formatOf(values.out);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		try {
			const options = { now: Date.now() / 1000, signal: interrupt.signal };
			const part: ReportPart = values.part ?? 'all';
			if (positionals.length > 1 && part !== 'all') {
				throw new Failure('invalid', '--part applies only to a single run.', 'Specify one run, or omit --part.');
			}
			const report =
				positionals.length > 1
					? await readSeveralReport(positionals, (named) => anyRun(named), options)
					: await readReport(positionals[0] as string, (named) => anyRun(named), { ...options, part });
			const { runs, gaps, claims } = report;
			const text = renderers[format](report.document);
			if (values.out === '-') {
				output.object({ kind: 'report', path: null, format, text, runs, gaps, claims });
				output.document(text.trimEnd());
				return 0;
			}
			const path = resolve(values.out ?? `${safeName(report.document.title)}-report.${endings[format]}`);
			await writeFileAtomic(path, text);
			const bytes = Buffer.byteLength(text);
			output.object({ kind: 'report', path, format, bytes, runs, gaps, claims });
			output.line(printable(`${path}: report for ${report.document.title} (${formatBytes(bytes)})`));
			for (const gap of gaps.slice(0, 5)) output.line(printable(`  ${gap}`));
			return 0;
		} finally {
			release();
		}
	},
});

const formatOf = (out: string | undefined): Format =>
	out !== undefined && /\.(md|markdown)$/i.test(out) ? 'markdown' : 'html';

const safeName = (name: string) =>
	name
		.replace(/[^\w.-]+/g, '-')
		.replace(/^[-.]+/, '')
		.slice(0, 80) || 'run';
