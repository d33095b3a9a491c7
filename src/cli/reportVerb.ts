import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatBytes } from '../base/format.ts';
import { reportHtml } from '../core/report/reportHtml.ts';
import { reportMarkdown } from '../core/report/reportMarkdown.ts';
import { writeFileAtomic } from '../runs/atomicFile.ts';
import { type ReportPart, readReport, readSeveralReport } from '../runs/report/readReport.ts';
import { anyRun } from './anyRun.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

const options = {
	out: { type: 'string' },
	format: { type: 'string' },
	part: { type: 'string' },
} as const;

const renderers = { html: reportHtml, markdown: reportMarkdown } as const;
type Format = keyof typeof renderers;
const endings: Readonly<Record<Format, string>> = { html: 'html', markdown: 'md' };

export const reportVerb: Verb = {
	name: 'report',
	usage: '<run or pipeline>... [--out FILE]',
	summary:
		'Write what a run, several runs, a pipeline, or one with several seeds came to as HTML or Markdown (docs/reports.md).',
	options: [
		[
			'--out FILE',
			'The file; one that is there is replaced (default: NAME-report.html in the current folder); -: standard output.',
		],
		['--format FORMAT', 'html or markdown (default: by the ending of --out, else html).'],
		['--part evaluations', "The evaluations of a run's checkpoints alone."],
	],
	async run({ args, output }) {
		const { values, positionals } = parseArguments('report', args, options, { names: ['a run'], least: 1, most: 20 });
		const format = formatOf(values.format, values.out);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		try {
			const options = { now: Date.now() / 1000, signal: interrupt.signal };
			const part = partOf(values.part);
			if (positionals.length > 1 && part !== 'all') {
				throw new Failure('invalid', '--part is for one run, and several are named.', 'Name one, or leave --part out.');
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
			output.line(printable(`${path}: report of ${report.document.title} (${formatBytes(bytes)})`));
			for (const gap of gaps.slice(0, 5)) output.line(printable(`  ${gap}`));
			return 0;
		} finally {
			release();
		}
	},
};

function partOf(named: string | undefined): ReportPart {
	if (named === undefined) return 'all';
	if (named === 'evaluations') return named;
	throw new Failure('invalid', `--part is "${named}".`, 'It can be evaluations.');
}

function formatOf(named: string | undefined, out: string | undefined): Format {
	if (named === undefined) return out !== undefined && /\.(md|markdown)$/i.test(out) ? 'markdown' : 'html';
	if (Object.hasOwn(renderers, named)) return named as Format;
	throw new Failure('invalid', `--format is "${named}".`, 'It can be html or markdown.');
}

const safeName = (name: string) =>
	name
		.replace(/[^\w.-]+/g, '-')
		.replace(/^[-.]+/, '')
		.slice(0, 80) || 'run';
