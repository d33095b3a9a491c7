import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { completionMessages } from '../../../core/trace/conversation.ts';
import { readTools, transcriptLimits } from '../../../core/transcript/readTranscript.ts';
import { readAt } from '../../../files/readAt.ts';
import { isZip, ZipArchive } from '../../../files/zipArchive.ts';
import type { TranscriptPlace } from '../../../protocol/transcriptMessages.ts';
import { inspectArchiveText } from '../../../runs/inspectArchive.ts';
import type { RolloutPlace, StepRollouts } from '../../../runs/runContent.ts';
import {
	archivedSamples,
	isInspectLog,
	isReadWhole,
	type LoggedSample,
	logLimits,
	type WrittenSamples,
	writtenSample,
	writtenSamples,
} from '../../../runs/transcript/loggedSamples.ts';
import { pagedBytes } from '../../../runs/transcript/messageLines.ts';
import { spoolMessages, spoolSample } from '../../../runs/transcript/spooledLines.ts';
import { FileText, LinesText, spooledText, type TranscriptText, textInMemory } from './transcriptText.ts';

/** Maximum number of a rollout's messages sent at once. */
const wholeRollout = 5000;

/**
 * Opens a transcript's text. Fails with `missing`, `invalid` (not a regular file or not text), or `unsupported` (too
 * long).
 * Fails with `cancelled` if the signal fires while a long log is read.
 * @param before the previously opened text, whose lines are reused if the file has grown
 * @param sample index of the conversation to read if the file's conversations are read one at a time
 */
export function openTranscriptText(
	place: TranscriptPlace,
	before: TranscriptText | null = null,
	sample = 0,
	signal?: AbortSignal,
): Promise<TranscriptText> {
	return place.kind === 'file' ? openFile(place.file, before, sample, signal) : openRollout(place);
}

async function openFile(
	path: string,
	before: TranscriptText | null,
	sample: number,
	signal: AbortSignal | undefined,
): Promise<TranscriptText> {
	const name = basename(path);
	let handle: FileHandle;
	try {
		const stat = await lstat(path);
		// The user chose the file, so symbolic links are followed, but not to pipes or devices.
		if (!stat.isFile() && !stat.isSymbolicLink()) throw new Failure('invalid', `${name} is not a regular file.`);
		handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
	} catch (error) {
		throw Failure.from(error, `Cannot read ${name}`);
	}
	try {
		const stat = await handle.stat();
		if (!stat.isFile()) throw new Failure('invalid', `${name} is not a regular file.`);
		const identity = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}`;
		// Nothing has changed: the session compares identities and keeps its current text.
		if (identity === before?.identity) return new FileText(handle, identity, stat.size);
		const head = await readAt(handle, 0, Math.min(stat.size, 8192));
		if (isZip(head)) {
			return await openArchive(handle, stat, name, { before, sample, identity, signal });
		}
		if (stat.size >= pagedBytes) {
			const lines = await LinesText.open(path, handle, identity, before);
			if (lines !== null) return lines;
		}
		if (stat.size > transcriptLimits.characters && stat.size <= logLimits.bytes && isInspectLog(head)) {
			return await openLog(handle, stat, name, { before, sample, identity, signal });
		}
		if (stat.size > transcriptLimits.characters) {
			throw new Failure(
				'unsupported',
				`${name} is ${Math.round(stat.size / 2 ** 20)} MB; the limit is ${transcriptLimits.characters / 2 ** 20} MB.`,
				'Save the conversation you want to inspect to a separate file.',
			);
		}
		if (head.includes(0)) {
			throw new Failure(
				'invalid',
				`${name} is not text.`,
				'Open a JSON or JSONL chat log, or a text file with messages printed by Python.',
			);
		}
		return new FileText(handle, identity, stat.size);
	} catch (error) {
		await handle.close().catch(() => undefined);
		throw error;
	}
}

interface ArchiveRequest {
	readonly before: TranscriptText | null;
	readonly sample: number;
	readonly identity: string;
	readonly signal: AbortSignal | undefined;
}

/** Reads all samples of a small archive, and one sample of any other. Closes the handle unless it fails. */
async function openArchive(
	handle: FileHandle,
	{ dev, ino, size }: Stats,
	name: string,
	{ before, sample, identity, signal }: ArchiveRequest,
): Promise<TranscriptText> {
	const source = { size, read: (offset: number, length: number) => readAt(handle, offset, length) };
	const archive = await ZipArchive.open(source);
	const samples = archivedSamples(archive);
	if (isReadWhole(archive, size, samples)) {
		if (size > transcriptLimits.characters) throw new Failure('invalid', `${name} has no Inspect samples.`);
		const text = await inspectArchiveText(await handle.readFile(), name);
		await handle.close();
		return textInMemory(identity, text);
	}
	const problems = archive.damage === null ? [] : [`${name} is damaged: ${archive.damage}`];
	return openSample(handle, `${dev}:${ino}`, { samples, sample, before, problems, signal });
}

/** Samples of open logs, cached so that a log is reread only when it has changed. */
const listed = new WeakMap<TranscriptText, { readonly identity: string; readonly found: WrittenSamples }>();

/** Reads one sample of a JSON log. Closes the handle unless it fails. */
async function openLog(
	handle: FileHandle,
	{ dev, ino, size }: Stats,
	name: string,
	{ before, sample, identity, signal }: ArchiveRequest,
): Promise<TranscriptText> {
	const source = { size, read: (offset: number, length: number) => readAt(handle, offset, length) };
	const known = before === null ? undefined : listed.get(before);
	const { samples, damage } = known?.identity === identity ? known.found : await writtenSamples(source, signal);
	if (samples.length === 0) {
		const why = damage === null ? 'it has no samples' : `it ${damage}`;
		throw new Failure('invalid', `Cannot read the samples of ${name}: ${why}.`, 'Copy the log again.');
	}
	// A sample has no checksum, so it counts as changed whenever the file has changed.
	const own = samples.map((one) => {
		const written = writtenSample(source, one);
		return { ...written, stamp: `${identity}:${written.stamp}` };
	});
	const problems = damage === null ? [] : [`${name} ${damage}`];
	const text = await openSample(handle, `${dev}:${ino}`, { samples: own, sample, before, problems, signal });
	listed.set(text, { identity, found: { samples, damage } });
	return text;
}

interface SampleRequest {
	readonly samples: readonly LoggedSample[];
	readonly sample: number;
	readonly before: TranscriptText | null;
	readonly problems: readonly string[];
	readonly signal: AbortSignal | undefined;
}

/** Reads one sample of a log. Closes the handle unless it fails. */
async function openSample(
	handle: FileHandle,
	file: string,
	{ samples, sample, before, problems, signal }: SampleRequest,
): Promise<TranscriptText> {
	const index = Math.min(sample, samples.length - 1);
	const chosen = samples[index] as LoggedSample;
	// Identifies only this sample, because the others change while a log is being written.
	const own = `${file}:${chosen.stamp}:${index}/${samples.length}`;
	if (own === before?.identity) {
		await handle.close();
		return textInMemory(own, '');
	}
	const titles = samples.map(({ title }) => title);
	const text = await spooledText(own, await spoolSample(chosen, { problems, ...(signal && { signal }) }), {
		titles,
		index,
	});
	void text.byLines?.ready?.finally(() => handle.close()).catch(() => undefined);
	return text;
}

async function openRollout(place: TranscriptPlace & { kind: 'rollout' }): Promise<TranscriptText> {
	const { openRun } = await import('../../../runs/openRun.ts');
	const run = await openRun(place.run);
	const rollouts = await run.open(place.step, place.split);
	try {
		const line = await rollouts.rollout(await find(rollouts, place));
		// Only pass on the parts shown by the inspector. Text with tool calls is read as messages, as in the rollouts panel.
		const messages = completionMessages(line);
		const asked = typeof line.prompt === 'string' ? [{ role: 'user', content: line.prompt }] : line.prompt;
		const prompt = messages === null ? line.prompt : asked;
		const identity = `${rollouts.identity}:${place.group}:${place.index}`;
		const tools = line.extra?.tools;
		if (messages !== null && asked.length + messages.length > wholeRollout) {
			return await spooledText(identity, await spoolMessages([...asked, ...messages], readTools(tools)));
		}
		return textInMemory(identity, JSON.stringify({ prompt, completion: messages ?? line.completion, tools }));
	} finally {
		await rollouts.close();
	}
}

async function find(
	rollouts: StepRollouts,
	{ step, group, index }: TranscriptPlace & { kind: 'rollout' },
): Promise<RolloutPlace> {
	for await (const { place } of rollouts.rollouts()) {
		if (place !== null && place.group === group && place.index === index) return place;
	}
	throw new Failure(
		'missing',
		`Step ${step} has no completion ${index} in group ${group}.`,
		'Open the transcript again from the rollouts panel.',
	);
}
