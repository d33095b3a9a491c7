import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { withAddresses } from '../../core/address/findAddresses.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { requireInside } from '../../files/ownFolder.ts';
import { annotationFolder, ownFormat } from '../../runs/annotationFolder.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { type CheckedCitation, checkCitations, citationProblem } from '../citations/checkCitations.ts';
import * as input from '../inputs.ts';
import { defineAction } from '../tool.ts';

const folderName = 'reports';
const maxProblems = 10;

export const writeReportTool = defineAction({
	name: 'write_report',
	title: 'Write a report',
	description:
		'Write a report on a run as Markdown, with an rl:// citation after each number. A paragraph that is only ![TITLE](rl://RUN/metric/NAME) is drawn as a chart in the editor. Every citation must resolve and every number must match the data; otherwise, nothing is written and the problems are listed. The report is stored with the run, or in the user data folder for runs from other trainers.',
	effect: 'write',
	input: v.object({
		run: input.run,
		name: input.described(
			v.pipe(v.string(), v.regex(/^[A-Za-z0-9][\w-]{0,80}$/)),
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
		const own = content.format === ownFormat;
		const base = await annotationFolder({ folder: content.folder, format: content.format });
		// A run folder can come from someone else and contain links. The user's own data folder cannot.
		const folder = own ? await requireInside(content.folder, runFiles.annotations, folderName) : join(base, folderName);
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
		const file = `${runFiles.annotations}/${folderName}/${name}.md`;
		return {
			run: run.name,
			path,
			...(own ? { address: formatAddress({ kind: 'file', run: run.name, path: file, offset: 0 }) } : {}),
			citations: citations.length,
			checked_numbers: citations.reduce((sum, { status, quoted }) => sum + (status === 'ok' ? quoted.length : 0), 0),
		};
	},
});

function unsound(citations: readonly CheckedCitation[]): Failure {
	const problems = citations.flatMap((citation) => {
		const problem = citationProblem(citation);
		return problem === null ? [] : [`line ${citation.line}: ${citation.address}: ${problem}`];
	});
	const listed = problems.slice(0, maxProblems);
	const more = problems.length > listed.length ? `; and ${problems.length - listed.length} more` : '';
	return new Failure(
		'invalid',
		`${formatCounted(problems.length, 'citation')} of ${citations.length} did not pass the check, so nothing was written: ${listed.join('; ')}${more}`,
		'Fix them, check the text with check_citations, and write the report again.',
	);
}
