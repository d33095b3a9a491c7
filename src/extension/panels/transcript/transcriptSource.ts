import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { completionMessages } from '../../../core/trace/conversation.ts';
import { transcriptLimits } from '../../../core/transcript/readTranscript.ts';
import { isZip } from '../../../files/zipArchive.ts';
import type { TranscriptPlace } from '../../../protocol/transcriptMessages.ts';
import { inspectArchiveText } from '../../../runs/inspectArchive.ts';
import type { RolloutPlace, StepRollouts } from '../../../runs/runContent.ts';
import type { InspectedFile } from '../../../runs/transcript/inspectLines.ts';
import { type LoadedLines, MessageLines, pagedBytes } from '../../../runs/transcript/messageLines.ts';

/** Text that is read in pieces. */
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
}

/** Lines of a text with one message per line. */
export interface TextLines {
	readonly count: number;
	/** Whether the text is the previously opened one, with lines appended. */
	readonly grown: boolean;
	readonly file: InspectedFile;
	load(from: number, count: number): Promise<LoadedLines>;
}

/** Maximum bytes per message to the webview. */
const pieceBytes = 256 * 1024;

/**
 * Opens a transcript's text. Fails with `missing`, `invalid` (not a regular file or not text), or `unsupported` (too
 * long).
 * @param before the previously opened text, whose lines are reused if the file has grown
 */
export function openTranscriptText(
	place: TranscriptPlace,
	before: TranscriptText | null = null,
): Promise<TranscriptText> {
	return place.kind === 'file' ? openFile(place.file, before) : openRollout(place);
}

async function openFile(path: string, before: TranscriptText | null): Promise<TranscriptText> {
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
		if (stat.size >= pagedBytes) {
			const lines = await LinesText.open(path, handle, identity, before);
			if (lines !== null) return lines;
		}
		if (stat.size > transcriptLimits.characters) {
			throw new Failure(
				'unsupported',
				`${name} is ${Math.round(stat.size / 2 ** 20)} MB; the limit is ${transcriptLimits.characters / 2 ** 20} MB.`,
				'Save the conversation you want to inspect to a separate file.',
			);
		}
		const head = Buffer.alloc(Math.min(stat.size, 8192));
		const { bytesRead } = await handle.read(head, 0, head.length, 0);
		if (isZip(head.subarray(0, bytesRead))) {
			const text = await inspectArchiveText(await handle.readFile(), name);
			await handle.close();
			return textInMemory(identity, text);
		}
		if (head.subarray(0, bytesRead).includes(0)) {
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

	constructor(handle: FileHandle, identity: string, size: number) {
		this.#handle = handle;
		this.identity = identity;
		this.size = size;
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

/** Returns how many bytes to decode without splitting a UTF-8 character. Invalid bytes are kept as is. */
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
		// Only pass on the parts shown by the inspector. A text with tool calls is read as messages, as in the rollouts panel.
		const messages = completionMessages(line);
		const asked = typeof line.prompt === 'string' ? [{ role: 'user', content: line.prompt }] : line.prompt;
		const prompt = messages === null ? line.prompt : asked;
		const text = JSON.stringify({ prompt, completion: messages ?? line.completion, tools: line.extra?.tools });
		return textInMemory(`${rollouts.identity}:${place.group}:${place.index}`, text);
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
