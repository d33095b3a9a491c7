import { parseBoundedJson } from '../base/boundedJson.ts';

/** Maximum line length in bytes. A rollout line holds one completion of up to 1 MB plus its tokens. */
export const longestLine = 64 << 20;

const newline = 0x0a;

export interface SplitLines {
	readonly lines: Uint8Array[];
	/** Number of bytes through the end of the last complete line. */
	readonly consumed: number;
}

/**
 * Splits a buffer at `\n` only, because JSON can contain U+2028 and `\r`. Text after the last `\n` is not a complete
 * line.
 */
export function splitLines(bytes: Uint8Array): SplitLines {
	const lines: Uint8Array[] = [];
	let start = 0;
	for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, start)) {
		lines.push(bytes.subarray(start, end));
		start = end + 1;
	}
	return { lines, consumed: start };
}

const decoder = new TextDecoder('utf-8');

/** Parses a line. Returns undefined if it is blank or not valid JSON (torn by a crash, or in another format). */
export function parseLine(line: Uint8Array): unknown {
	if (line.length === 0) return undefined;
	try {
		return parseBoundedJson(decoder.decode(line));
	} catch {
		return undefined;
	}
}

/** Formats a value as a line ending in `\n`. NaN and infinity become null, because JSON cannot represent them. */
export function formatLine(value: unknown): string {
	return `${JSON.stringify(value)}\n`;
}

/**
 * Splits a stream of chunks into lines. Overlong lines are dropped instead of buffered, and counted in `dropped`. Text
 * after the last `\n` remains `pending`.
 */
export class LineSplitter {
	readonly #limit: number;
	#parts: Uint8Array[] = [];
	#length = 0;
	#skipping = false;
	dropped = 0;

	constructor(limit = longestLine) {
		this.#limit = limit;
	}

	/** Number of bytes since the last `\n`. */
	get pending(): number {
		return this.#length;
	}

	push(chunk: Uint8Array): Uint8Array[] {
		const lines: Uint8Array[] = [];
		let start = 0;
		for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
			this.#keep(chunk.subarray(start, end));
			if (this.#skipping) this.dropped++;
			else lines.push(this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : Buffer.concat(this.#parts));
			this.#parts = [];
			this.#length = 0;
			this.#skipping = false;
			start = end + 1;
		}
		this.#keep(chunk.slice(start));
		return lines;
	}

	#keep(part: Uint8Array): void {
		this.#length += part.length;
		if (this.#length > this.#limit) {
			this.#skipping = true;
			this.#parts = [];
		}
		if (!this.#skipping) this.#parts.push(part);
	}
}
