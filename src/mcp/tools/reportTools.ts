import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { formatAddress, reportName } from '../../core/address/dataAddress.ts';
import { withAddresses } from '../../core/address/findAddresses.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { isInside } from '../../files/isInside.ts';
import { reportFolder } from '../../runs/runReports.ts';
import { noticeReport, type WrittenReport } from '../../runs/writtenReports.ts';
import { type CheckedCitation, checkCitations, citationProblem } from '../citations/checkCitations.ts';
import * as input from '../inputs.ts';
import { defineAction } from '../tool.ts';

const maxProblems = 10;

export const writeReportTool = defineAction({
	name: 'write_report',
	title: 'Write a report',
	description:
		'Write a report on a run as Markdown, with an rl:// citation after each number. A paragraph that consists only of ![TITLE](rl://RUN/metric/NAME) is drawn as a chart in the editor. Every citation must resolve and every number must match the data; otherwise, nothing is written and the problems are listed. The report is stored with the run, or in the user data folder for runs from other trainers.',
	effect: 'write',
	input: v.object({
		run: input.run,
		name: input.described(
			v.pipe(v.string(), v.regex(reportName)),
			'File name without an extension: letters, digits, "-" and "_".',
		),
		text: input.text('Markdown text.', 500_000),
		replace: v.optional(input.described(v.boolean(), 'Whether to replace an existing report with this name.'), false),
	}),
	async run({ run: named, name, text: given, replace }, context) {
		// Links depend on the editor.
		const text = withAddresses(given);
		const { run, content } = await context.runs.open(named);
		const { citations, sound, truncated } = await checkCitations(text, context);
		if (citations.length === 0) {
			throw new Failure(
				'invalid',
				'The report does not cite any data.',
				'Add the rl:// address of its source after each number.',
			);
		}
		if (truncated) {
			throw new Failure('full', `The report has more than ${citations.length} citations.`, 'Split it into several.');
		}
		if (!sound) throw unsound(citations);
		const folder = await reportFolder(content);
		const path = join(folder, `${name}.md`);
		if (!replace && (await lstat(path).catch(() => null)) !== null) {
			throw new Failure(
				'exists',
				`${run.name} already has a report "${name}".`,
				'Choose another name, or set replace.',
			);
		}
		await ensureFolder(folder);
		await writeFileAtomic(path, text.endsWith('\n') ? text : `${text}\n`);
		await noticed({ run: run.folder, path, folders: context.runs.folders });
		return {
			run: run.name,
			path,
			address: formatAddress({ kind: 'report', run: run.name, name, offset: 0 }),
			citations: citations.length,
			checked_numbers: citations.reduce((sum, { status, quoted }) => sum + (status === 'ok' ? quoted.length : 0), 0),
		};
	},
});

/**
 * Leaves a notice for the editor about a report outside the server's folders, where the editor does not watch files.
 */
async function noticed(report: { run: string; path: string; folders: readonly string[] }): Promise<void> {
	const folders = await Promise.all(report.folders.map((folder) => realpath(folder).catch(() => folder)));
	const path = await realpath(report.path);
	if (folders.some((folder) => isInside(path, folder))) return;
	// The report has been written even if the notice fails.
	await noticeReport({ ...report, folders: [...report.folders] } satisfies WrittenReport).catch(() => undefined);
}

function unsound(citations: readonly CheckedCitation[]): Failure {
	const problems = citations.flatMap((citation) => {
		const problem = citationProblem(citation);
		return problem === null ? [] : [`line ${citation.line}: ${citation.address}: ${problem}`];
	});
	const listed = problems.slice(0, maxProblems);
	const more = problems.length > listed.length ? `; and ${problems.length - listed.length} more` : '';
	return new Failure(
		'invalid',
		`${problems.length} of ${formatCounted(citations.length, 'citation')} did not pass the check, so nothing was written: ${listed.join('; ')}${more}`,
		'Fix them, check the text with check_citations, and write the report again.',
	);
}
