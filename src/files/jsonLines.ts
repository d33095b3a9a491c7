import { parseBoundedJson } from '../base/boundedJson.ts';

/** Longest line that is read, in bytes: rollouts carry one completion of up to 1 MB with its tokens. */
export const longestLine = 64 << 20;

const newline = 0x0a;

export interface SplitLines {
	readonly lines: Uint8Array[];
	/** Bytes up to the end of the last complete line. */
	readonly consumed: number;
}

/** Cuts a buffer at `\n` alone (JSON may hold U+2028 and `\r`); what follows the last one is not yet a line. */
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

/** A line as a value; undefined when it is blank or not JSON (torn by a crash, or foreign). */
export function parseLine(line: Uint8Array): unknown {
	if (line.length === 0) return undefined;
	try {
		return parseBoundedJson(decoder.decode(line));
	} catch {
		return undefined;
	}
}

/** One line with its `\n`. JSON has no NaN or infinity: they become null. */
export function formatLine(value: unknown): string {
	return `${JSON.stringify(value)}\n`;
}

/**
 * Cuts a stream of chunks into lines. A line longer than the limit is dropped, not kept in memory; `dropped` counts them.
 * The text after the last `\n` stays `pending`.
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

	/** Bytes since the last `\n`. */
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
