import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { Emitter, type Event } from '../../../base/event.ts';
import { Failure } from '../../../base/failure.ts';
import { completionMessages } from '../../../core/trace/conversation.ts';
import { type LoggedContext, loggedMessage } from '../../../core/transcript/agentLogs.ts';
import { readTools, transcriptLimits } from '../../../core/transcript/readTranscript.ts';
import { readAt } from '../../../files/readAt.ts';
import { isZip, ZipArchive } from '../../../files/zipArchive.ts';
import type { TranscriptPlace } from '../../../protocol/transcriptMessages.ts';
import { inspectArchiveText } from '../../../runs/inspectArchive.ts';
import type { RolloutPlace, StepRollouts } from '../../../runs/runContent.ts';
import type { InspectedFile } from '../../../runs/transcript/inspectLines.ts';
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
import { type LoadedLines, MessageLines, pagedBytes } from '../../../runs/transcript/messageLines.ts';
import { type SpooledLines, spoolMessages, spoolSample } from '../../../runs/transcript/spooledLines.ts';

/** Text read in pieces. */
export interface TranscriptText {
	/** Key that changes with the text. */
	readonly identity: string;
	/** Size in bytes, or in UTF-16 code units for text in memory. */
	readonly size: number;
	/** @param from 0, or the `next` position of an earlier piece */
	piece(from: number): Promise<{ readonly text: string; readonly next: number | null }>;
	close(): Promise<void>;
	/** Present if the text has one message per line. */
	readonly byLines?: TextLines;
	/** Present if the file contains several conversations that are read one at a time. */
	readonly samples?: TextSamples;
}

/** Conversations in a file. */
export interface TextSamples {
	readonly titles: readonly string[];
	/** Index of the conversation in the text. */
	readonly index: number;
}

/** Lines of text with one message per line. */
export interface TextLines {
	readonly count: number;
	/** Whether the text is the previously opened text with lines appended. */
	readonly grown: boolean;
	readonly file: InspectedFile;
	/**
	 * Settles when all lines, and everything that belongs to them, have been read; absent if they already have been.
	 */
	readonly ready?: Promise<void>;
	/** Fires when lines have been appended; absent if the text cannot grow. */
	readonly onGrowth?: Event<void>;
	load(from: number, count: number): Promise<LoadedLines>;
}

/** Maximum bytes per message to the webview. */
const pieceBytes = 256 * 1024;
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

async function spooledText(identity: string, spooled: SpooledLines, samples?: TextSamples): Promise<TranscriptText> {
	try {
		return await SpooledText.of(identity, spooled, samples);
	} catch (error) {
		await spooled.close();
		throw error;
	}
}

function textInMemory(identity: string, text: string): TranscriptText {
	return {
		identity,
		size: text.length,
		piece: (from) => {
			const end = from + pieceBytes;
			return Promise.resolve({ text: text.slice(from, end), next: end < text.length ? end : null });
		},
		close: () => Promise.resolve(),
	};
}

class FileText implements TranscriptText {
	readonly identity: string;
	readonly size: number;
	readonly #handle: FileHandle;
	readonly byLines?: TextLines;
	readonly samples?: TextSamples;

	constructor(handle: FileHandle, identity: string, size: number, samples?: TextSamples) {
		this.#handle = handle;
		this.identity = identity;
		this.size = size;
		if (samples !== undefined) this.samples = samples;
	}

	async piece(from: number): Promise<{ text: string; next: number | null }> {
		const buffer = Buffer.alloc(Math.min(pieceBytes, Math.max(0, this.size - from)));
		const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, from);
		const last = from + bytesRead >= this.size || bytesRead === 0;
		const end = last ? bytesRead : wholeCharacters(buffer, bytesRead);
		return { text: buffer.toString('utf8', 0, end), next: last ? null : from + end };
	}

	close(): Promise<void> {
		return this.#handle.close();
	}
}

/** A file with one message per line. Only the lines shown are read. */
class LinesText extends FileText {
	override readonly byLines: TextLines;
	readonly #lines: MessageLines;

	private constructor(handle: FileHandle, identity: string, lines: MessageLines, file: InspectedFile, grown: boolean) {
		super(handle, identity, file.size);
		this.#lines = lines;
		const { count } = lines;
		this.byLines = { count, grown, file, load: (from, more) => lines.load(handle, from, Math.min(more, count - from)) };
	}

	/** Returns null if the file does not start with one message per line. */
	static async open(
		path: string,
		handle: FileHandle,
		identity: string,
		before: TranscriptText | null,
	): Promise<LinesText | null> {
		const { dev, ino, size } = await handle.stat({ bigint: true });
		const file = { path, dev, ino, size: Number(size) };
		const known = before instanceof LinesText && before.byLines.file.dev === dev && before.byLines.file.ino === ino;
		const grown = known && (await before.#lines.continues(handle, file.size));
		if (!grown && !(await MessageLines.found(handle, file.size))) return null;
		const lines = grown ? before.#lines : new MessageLines();
		await lines.extend(handle, file.size);
		return new LinesText(handle, identity, lines, file, grown);
	}
}

/** Messages in a temporary file, which is removed when the text is closed. */
class SpooledText extends FileText {
	override readonly byLines: TextLines;
	readonly #spooled: SpooledLines;

	private constructor(identity: string, spooled: SpooledLines, byLines: TextLines, samples: TextSamples | undefined) {
		super(spooled.handle, identity, spooled.size, samples);
		this.#spooled = spooled;
		this.byLines = byLines;
	}

	static async of(identity: string, spooled: SpooledLines, samples?: TextSamples): Promise<SpooledText> {
		const { handle, path, context } = spooled;
		const { dev, ino } = await handle.stat({ bigint: true });
		const lines = new MessageLines();
		await lines.extend(handle, spooled.size);
		let { size } = spooled;
		const growth = new Emitter<void>();
		const ready = spooled.rest(async (now) => {
			await lines.extend(handle, now);
			size = now;
			growth.fire();
		});
		const byLines: TextLines = {
			get count() {
				return lines.count;
			},
			get file() {
				return { path, dev, ino, size, context };
			},
			...{ grown: false, ready, onGrowth: growth.event },
			async load(from, count) {
				const loaded = await lines.load(handle, from, count);
				return { ...loaded, lines: loaded.lines.map((line) => line && convertedLine(line, context)) };
			},
		};
		return new SpooledText(identity, spooled, byLines, samples);
	}

	override close(): Promise<void> {
		return this.#spooled.close();
	}
}

function convertedLine(line: string, context: LoggedContext): string {
	try {
		return JSON.stringify(loggedMessage(parseBoundedJson(line), context));
	} catch {
		return line;
	}
}

/** Returns how many bytes to decode without splitting a UTF-8 character. Invalid bytes are kept. */
export function wholeCharacters(buffer: Uint8Array, length: number): number {
	for (let back = 1; back <= Math.min(3, length); back++) {
		const byte = buffer[length - back] as number;
		if ((byte & 0xc0) === 0x80) continue;
		const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		return needs > back && length > back ? length - back : length;
	}
	return length;
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
