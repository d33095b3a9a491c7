import type { FileHandle } from 'node:fs/promises';
import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { Emitter, type Event } from '../../../base/event.ts';
import { type LoggedContext, loggedMessage } from '../../../core/transcript/agentLogs.ts';
import type { InspectedFile } from '../../../runs/transcript/inspectLines.ts';
import { type LoadedLines, MessageLines } from '../../../runs/transcript/messageLines.ts';
import type { SpooledLines } from '../../../runs/transcript/spooledLines.ts';

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

/** Returns the text of messages in a temporary file, which is removed when the text is closed or cannot be read. */
export async function spooledText(
	identity: string,
	spooled: SpooledLines,
	samples?: TextSamples,
): Promise<TranscriptText> {
	try {
		return await SpooledText.of(identity, spooled, samples);
	} catch (error) {
		await spooled.close();
		throw error;
	}
}

export function textInMemory(identity: string, text: string): TranscriptText {
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

/** A file that is read in pieces. */
export class FileText implements TranscriptText {
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
export class LinesText extends FileText {
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
