import { formatCount } from '../base/format.ts';

/** Number of bytes to keep from the start and from the end of a batch's output. */
const headBytes = 48 * 1024;
const tailBytes = 16 * 1024;
const maxLineLength = 2000;

/**
 * Output that a host prints during a load or a batch. Keeps the start and the end, and only counts the bytes in
 * between. The cost is the same whether a reward prints one line or a gigabyte.
 */
export class HostLog {
	#head: Buffer[] = [];
	#headSize = 0;
	#tail: Buffer[] = [];
	#tailSize = 0;
	#dropped = 0;
	#total = 0;

	/** Total number of bytes so far, across all batches. */
	get total(): number {
		return this.#total;
	}

	add(chunk: Buffer): void {
		this.#total += chunk.length;
		const room = headBytes - this.#headSize;
		if (room > 0) {
			// Copy the bytes, because a slice would keep the whole chunk in memory.
			const part = Buffer.from(chunk.subarray(0, room));
			this.#head.push(part);
			this.#headSize += part.length;
		}
		if (chunk.length <= room) return;
		const rest = chunk.subarray(Math.max(0, room));
		const part = Buffer.from(rest.subarray(Math.max(0, rest.length - tailBytes)));
		this.#dropped += rest.length - part.length;
		this.#tail.push(part);
		this.#tailSize += part.length;
		while (this.#tailSize - (this.#tail[0] as Buffer).length >= tailBytes) {
			const gone = this.#tail.shift() as Buffer;
			this.#tailSize -= gone.length;
			this.#dropped += gone.length;
		}
	}

	/** Returns the end of the output as text without consuming it. */
	peek(): string {
		return Buffer.concat([...this.#head, ...this.#tail])
			.toString('utf8')
			.slice(-tailBytes);
	}

	/** Returns the lines printed since the last call. */
	take(): string[] {
		const head = Buffer.concat(this.#head).toString('utf8');
		const tail = Buffer.concat(this.#tail).toString('utf8');
		const dropped = this.#dropped;
		this.#head = [];
		this.#tail = [];
		this.#headSize = this.#tailSize = this.#dropped = 0;
		const lines =
			dropped === 0
				? linesOf(head + tail)
				: [...linesOf(head), `(${formatCount(dropped)} bytes omitted)`, ...linesOf(tail)];
		return lines.map((line) => (line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line));
	}
}

function linesOf(text: string): string[] {
	if (text === '') return [];
	return text.replace(/\r?\n$/, '').split(/\r?\n/);
}
