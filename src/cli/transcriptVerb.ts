import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { checkTranscript } from '../core/transcript/checkTranscript.ts';
import type { Finding } from '../core/transcript/finding.ts';
import { describe, readTranscript, transcriptLimits } from '../core/transcript/readTranscript.ts';
import { findReferences } from '../core/transcript/references.ts';
import { contextPoints, tokenTotals } from '../core/transcript/tokenTotals.ts';
import type { Transcript, TranscriptFault, TranscriptFile } from '../core/transcript/transcript.ts';
import { readAt } from '../files/readAt.ts';
import { isZip } from '../files/zipArchive.ts';
import { inspectArchiveText } from '../runs/inspectArchive.ts';
import { checkedBytes } from '../runs/transcript/inspectLines.ts';
import { type LongLog, openLongLog } from '../runs/transcript/longLog.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
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
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const handle = await openRegularFile(path, name);
		try {
			const log = await openLongLog(path, handle, name, interrupt.signal);
			// Without --json, read only the conversations to print.
			const file =
				log === null
					? wholeFile(await readText(handle, name), name)
					: await longFile(log, output.json ? log.titles.length : maxShown, interrupt.signal);
			printFile(path, file, output);
		} finally {
			release();
			await handle.close();
		}
		return 0;
	},
});

/** The facts reported about a conversation. Its messages are not kept, because a file can have many conversations. */
interface CheckedConversation {
	readonly title: string;
	readonly messages: number;
	readonly calls: number;
	readonly tokens: ReturnType<typeof tokenTotals>;
	readonly context: ReturnType<typeof contextPoints>;
	/** Whether the conversation was short enough to be checked. */
	readonly checked: boolean;
	readonly findings: readonly Finding[];
	readonly references: ReturnType<typeof findReferences>;
}

interface CheckedFile extends Pick<TranscriptFile, 'format' | 'faults' | 'moreFaults'> {
	readonly conversations: readonly CheckedConversation[];
	/** Number of conversations in the file. */
	readonly total: number;
}

function checkedConversation(transcript: Transcript, title: string, checked = true): CheckedConversation {
	return {
		title,
		messages: transcript.messages.length,
		calls: transcript.links.length,
		tokens: tokenTotals(transcript),
		context: contextPoints(transcript),
		checked,
		findings: checked ? checkTranscript(transcript) : [],
		references: checked ? findReferences(transcript) : [],
	};
}

function wholeFile(text: string, name: string): CheckedFile {
	const { transcripts, ...file } = readTranscript(text, name);
	const conversations = transcripts.map((transcript) => checkedConversation(transcript, transcript.title));
	return { ...file, conversations, total: transcripts.length };
}

/** Reads the first conversations of a long log. */
async function longFile({ format, titles, read }: LongLog, count: number, signal: AbortSignal): Promise<CheckedFile> {
	const conversations: CheckedConversation[] = [];
	const faults: TranscriptFault[] = [];
	let moreFaults = 0;
	for (const [i, title] of titles.slice(0, count).entries()) {
		const { transcript, checked, ...rest } = await read(i, signal);
		conversations.push(checkedConversation(transcript, title, checked));
		faults.push(...rest.faults);
		moreFaults += rest.moreFaults;
	}
	return { format, faults, moreFaults, conversations, total: titles.length };
}

function printFile(path: string, file: CheckedFile, output: CliOutput): void {
	const { format, conversations: transcripts, faults, moreFaults, total } = file;
	output.object({ file: path, format, transcripts, faults, moreFaults });
	for (const fault of faults.slice(0, maxShown)) output.line(printable(describe(fault)));
	const shown = transcripts.slice(0, maxShown);
	for (const one of shown) for (const line of linesOf(one, total > 1)) output.line(printable(line));
	const more = total - shown.length;
	if (more > 0) output.line(`and ${formatCounted(more, 'more conversation')} (use --json for all)`);
}

async function openRegularFile(path: string, name: string): Promise<FileHandle> {
	// Open without blocking so that a pipe without a writer cannot hang.
	const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${name}`);
	});
	if ((await handle.stat()).isFile()) return handle;
	await handle.close();
	throw new Failure('invalid', `${name} is not a regular file.`);
}

async function readText(handle: FileHandle, name: string): Promise<string> {
	const { size } = await handle.stat();
	if (size > transcriptLimits.characters) {
		throw new Failure(
			'unsupported',
			`${name} is ${formatCount(size)} bytes; the limit is ${formatCount(transcriptLimits.characters)}.`,
			'Save the conversation you want to check as a separate file.',
		);
	}
	const bytes = await readAt(handle, 0, size);
	return isZip(bytes) ? await inspectArchiveText(bytes, name) : bytes.toString('utf8');
}

function linesOf(conversation: CheckedConversation, several: boolean): string[] {
	const { title: name, messages, calls, tokens: used, checked, findings } = conversation;
	const { prompt, completion, total, counted: answers } = used;
	const tokens =
		answers === 0
			? 'no token counts'
			: `${formatCount(prompt)} + ${formatCount(completion)} = ${formatCounted(total, 'token')}`;
	const head = `${several ? `${name}: ` : ''}${formatCounted(messages, 'message')}, ${formatCounted(calls, 'call')}, ${tokens}`;
	if (!checked) return [head, `  Not checked: the messages exceed ${checkedBytes / 2 ** 20} MB.`];
	if (findings.length === 0) return [head, '  No problems found.'];
	return [head, ...findings.map(({ severity, title, text }) => `  ${severity}: ${title}. ${text}`)];
}
