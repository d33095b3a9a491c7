import type { FileHandle } from 'node:fs/promises';
import { Failure } from '../../base/failure.ts';
import { formatCount } from '../../base/format.ts';
import { isBlankLine, isMessageLine, longestBlank, messageLineLimits } from '../../core/transcript/messageLine.ts';
import { readAt } from '../../files/readAt.ts';
import { Turns } from '../../files/turns.ts';

/** Minimum size of files that are read in parts; smaller ones are quick to read whole. */
export const pagedBytes = 1 << 20;
const chunkBytes = 1 << 20;
/** Number of bytes before the known end to compare when checking that the file has only been appended to. */
const markBytes = longestBlank;
const newline = 0x0a;

/** Lines for the panel, starting at `from`; `null` for a line that is too long. */
export interface LoadedLines {
	readonly lines: (string | null)[];
	/** 1-based line numbers in the file. */
	readonly numbers: number[];
	/** Whether the last of these lines is at the end of the file and lacks a newline. */
	readonly open: boolean;
}

/** Positions of the nonblank lines in a file, extended as the file grows. */
export class MessageLines {
	/** Byte offset and line number of each nonblank line. */
	#offsets = new Float64Array(1024);
	#numbers = new Uint32Array(1024);
	#ends = new Float64Array(1024);
	#count = 0;
	/** Number of bytes searched for lines so far. */
	#size = 0;
	/** Number of newlines before `#size`. */
	#feeds = 0;
	/** Start of the line after the last newline. */
	#lineStart = 0;
	/** Whether the last line has no newline. */
	#open = false;
	/** The last bytes before `#size`. */
	#mark: Buffer = Buffer.alloc(0);

	get count(): number {
		return this.#count;
	}

	/** Returns whether a file's first two lines are messages. */
	static async found(handle: FileHandle, size: number): Promise<boolean> {
		const head = await readAt(handle, 0, Math.min(size, chunkBytes));
		let start = 0;
		let found = 0;
		for (let end = head.indexOf(newline); end !== -1 && found < 2; end = head.indexOf(newline, start)) {
			const text = head.toString('utf8', start, end).trim();
			start = end + 1;
			if (text === '') continue;
			if (!isMessageLine(text)) return false;
			found++;
		}
		return found === 2;
	}

	/** Returns whether the file still starts with the text that has already been indexed. */
	async continues(handle: FileHandle, size: number): Promise<boolean> {
		if (size < this.#size) return false;
		const { length } = this.#mark;
		return this.#mark.equals(await readAt(handle, this.#size - length, length));
	}

	/** Finds the lines up to `size`. Fails with `unsupported` if there are too many. */
	async extend(handle: FileHandle, size: number): Promise<void> {
		const turns = new Turns();
		if (this.#open) this.#count--;
		// A last line without a newline might have grown.
		let start = this.#lineStart;
		let before = this.#mark;
		for (let position = this.#size; position < size; ) {
			const chunk = await readAt(handle, position, Math.min(chunkBytes, size - position));
			if (chunk.length === 0) break;
			for (let from = 0; ; ) {
				const feed = chunk.indexOf(newline, from);
				if (feed === -1) break;
				const end = position + feed;
				// Only a short line can be blank, so the bytes of long lines are not needed.
				const bytes = end - start > longestBlank ? null : between(before, chunk, start - position, feed);
				this.#add(start, end, bytes);
				this.#feeds++;
				from = feed + 1;
				start = position + from;
			}
			before = between(before, chunk, Math.max(-before.length, chunk.length - markBytes), chunk.length);
			position += chunk.length;
			this.#size = position;
			if (turns.due) await turns.pass();
		}
		this.#lineStart = start;
		this.#mark = Buffer.from(before);
		const { length } = before;
		const count = this.#count;
		if (start < this.#size) {
			const rest = this.#size - start;
			this.#add(start, this.#size, rest > longestBlank ? null : before.subarray(length - rest));
		}
		this.#open = this.#count > count;
	}

	/** Returns the text of up to `count` lines, fewer if they are long, but at least one. */
	async load(handle: FileHandle, from: number, count: number): Promise<LoadedLines> {
		const to = Math.min(this.#count, from + count);
		const lines: (string | null)[] = [];
		const numbers: number[] = [];
		let at = from;
		while (at < to) {
			const offset = this.#offsets[at] as number;
			// Read consecutive lines at once.
			let end = at + 1;
			while (end < to && (this.#ends[end] as number) - offset <= chunkBytes) end++;
			const length = (this.#ends[end - 1] as number) - offset;
			if (lines.length > 0 && length > chunkBytes) break;
			const bytes = length > messageLineLimits.bytes ? null : await readAt(handle, offset, length);
			for (; at < end; at++) {
				const begin = (this.#offsets[at] as number) - offset;
				lines.push(bytes?.toString('utf8', begin, (this.#ends[at] as number) - offset) ?? null);
				numbers.push(this.#numbers[at] as number);
			}
			if (length >= chunkBytes / 2) break;
		}
		return { lines, numbers, open: this.#open && at === this.#count };
	}

	/** @param bytes null if the line is too long to be blank */
	#add(start: number, end: number, bytes: Buffer | null): void {
		if (bytes !== null && isBlankLine(bytes)) return;
		if (this.#count === this.#offsets.length) this.#enlarge();
		this.#offsets[this.#count] = start;
		this.#ends[this.#count] = end;
		this.#numbers[this.#count] = this.#feeds + 1;
		this.#count++;
	}

	#enlarge(): void {
		if (this.#count >= messageLineLimits.lines) {
			throw new Failure(
				'unsupported',
				`The file has more than ${formatCount(messageLineLimits.lines)} lines.`,
				'Save the conversation you want to inspect to a separate file.',
			);
		}
		const size = Math.min(messageLineLimits.lines, this.#count * 2);
		const [offsets, ends, numbers] = [new Float64Array(size), new Float64Array(size), new Uint32Array(size)];
		offsets.set(this.#offsets);
		ends.set(this.#ends);
		numbers.set(this.#numbers);
		[this.#offsets, this.#ends, this.#numbers] = [offsets, ends, numbers];
	}
}

/** Returns the bytes from `start` to `end`, relative to `chunk`; a negative `start` refers to the bytes `before` it. */
function between(before: Buffer, chunk: Buffer, start: number, end: number): Buffer {
	if (start >= 0) return chunk.subarray(start, end);
	return Buffer.concat([before.subarray(before.length + start), chunk.subarray(0, end)]);
}
