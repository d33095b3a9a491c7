import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { checkTranscript } from '../core/transcript/checkTranscript.ts';
import type { Finding } from '../core/transcript/finding.ts';
import { describe, readTranscript, transcriptLimits } from '../core/transcript/readTranscript.ts';
import { findReferences } from '../core/transcript/references.ts';
import { contextPoints, tokenTotals } from '../core/transcript/tokenTotals.ts';
import type { Transcript } from '../core/transcript/transcript.ts';
import { isZip } from '../files/zipArchive.ts';
import { inspectArchiveText } from '../runs/inspectArchive.ts';
import { printable } from './cliOutput.ts';
import { defineVerb } from './verb.ts';

/** Maximum number of conversations printed per file; `--json` includes all of them. */
const maxShown = 20;

export const transcriptVerb = defineVerb({
	name: 'transcript',
	group: 'Data',
	arguments: [{ name: 'file', phrase: 'a file', type: 'path' }],
	summary: "Check an agent's chat log: calls, retries, critique, references, tokens.",
	async run({ positionals, output }) {
		const path = resolve(positionals[0] as string);
		const name = basename(path);
		const file = readTranscript(await readText(path, name), name);
		const shown = file.transcripts.map((transcript) => ({
			title: transcript.title,
			messages: transcript.messages.length,
			calls: transcript.links.length,
			tokens: tokenTotals(transcript),
			context: contextPoints(transcript),
			findings: checkTranscript(transcript),
			references: findReferences(transcript),
		}));
		const { format, faults, moreFaults } = file;
		output.object({ file: path, format, transcripts: shown, faults, moreFaults });
		for (const fault of faults.slice(0, maxShown)) output.line(printable(describe(fault)));
		for (const [i, transcript] of file.transcripts.slice(0, maxShown).entries()) {
			const found = shown[i]?.findings ?? [];
			for (const line of linesOf(transcript, found, file.transcripts.length > 1)) output.line(printable(line));
		}
		const more = file.transcripts.length - maxShown;
		if (more > 0) output.line(`and ${formatCounted(more, 'more conversation')} (use --json for all)`);
		return 0;
	},
});

async function readText(path: string, name: string): Promise<string> {
	// Open without blocking so that a pipe without a writer cannot hang.
	const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${name}`);
	});
	try {
		const stat = await handle.stat();
		if (!stat.isFile()) throw new Failure('invalid', `${name} is not a regular file.`);
		if (stat.size > transcriptLimits.characters) {
			throw new Failure(
				'unsupported',
				`${name} is ${formatCount(stat.size)} bytes; the limit is ${formatCount(transcriptLimits.characters)}.`,
				'Save the conversation to check in a separate file.',
			);
		}
		const bytes = await handle.readFile();
		return isZip(bytes) ? await inspectArchiveText(bytes, name) : bytes.toString('utf8');
	} finally {
		await handle.close();
	}
}

function linesOf(transcript: Transcript, findings: readonly Finding[], several: boolean): string[] {
	const { prompt, completion, total, counted: answers } = tokenTotals(transcript);
	const tokens =
		answers === 0
			? 'no token counts'
			: `${formatCount(prompt)} + ${formatCount(completion)} = ${formatCounted(total, 'token')}`;
	const head = `${several ? `${transcript.title}: ` : ''}${formatCounted(transcript.messages.length, 'message')}, ${formatCounted(transcript.links.length, 'call')}, ${tokens}`;
	if (findings.length === 0) return [head, '  No problems found.'];
	return [head, ...findings.map(({ severity, title, text }) => `  ${severity}: ${title}. ${text}`)];
}
