import { basename, dirname, resolve } from 'node:path';
import { formatCounted } from '../base/format.ts';
import { readNamed } from '../files/safeFile.ts';
import type { CheckedCitation } from '../mcp/citations/checkCitations.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, path, repeatable } from './options.ts';
import { defineVerb } from './verb.ts';

const largestText = 16 << 20;

export const citeCheckVerb = defineVerb({
	name: 'cite-check',
	group: 'Runs',
	arguments: [{ name: 'file', phrase: 'a Markdown file', type: 'path' }],
	summary:
		'Check the rl:// citations in a Markdown file: whether they resolve, and whether quoted numbers match the data. Exits with status 1 if not.',
	options: {
		folder: repeatable(
			path('FOLDER', "Folder that contains the cited runs (default: the current folder and the file's folder)."),
		),
		all: flag('Also list citations without problems.'),
	},
	async run({ values, positionals, output }) {
		const file = resolve(positionals[0] as string);
		const text = (await readNamed(file, { largest: largestText })).toString('utf8');
		const [{ checkCitations, citationProblem }, { Runs }, { Searches }] = await Promise.all([
			import('../mcp/citations/checkCitations.ts'),
			import('../mcp/runs.ts'),
			import('../mcp/searches.ts'),
		]);
		const folders = values.folder ?? [...new Set([process.cwd(), dirname(file)])];
		const runs = new Runs(folders.map((folder) => resolve(folder)));
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		try {
			const context = { runs, searches: new Searches(runs), signal: interrupt.signal };
			const { citations, sound, truncated } = await checkCitations(text, context);
			for (const citation of citations) {
				const problem = citationProblem(citation);
				output.object({ kind: 'citation', file, ...citation });
				if (problem !== null || values.all) output.line(printable(lineOf(basename(file), citation, problem ?? 'ok')));
			}
			const wrong = citations.filter((citation) => citationProblem(citation) !== null).length;
			output.object({ kind: 'checked', file, citations: citations.length, problems: wrong, sound, truncated });
			output.line(`${formatCounted(citations.length, 'citation')}, ${formatCounted(wrong, 'problem')}`);
			if (truncated) output.note(`Only the first ${citations.length} citations were checked.`);
			return sound ? 0 : 1;
		} finally {
			release();
			await runs.dispose();
		}
	},
});

const lineOf = (name: string, { line, column, address }: CheckedCitation, problem: string) =>
	`${name}:${line}:${column}: ${address}: ${problem}`;
