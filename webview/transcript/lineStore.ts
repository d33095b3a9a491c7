import { lineTooLong, type MessageLine, readMessageLine } from '../../src/core/transcript/messageLine.ts';

export interface LoadedLines {
	readonly lines: readonly (string | null)[];
	readonly numbers: readonly number[];
	readonly open: boolean;
}

/** A line with its text, which is shown if the line contains no message. */
export interface StoredLine extends MessageLine {
	readonly text: string;
	/** 1-based number in the file. */
	readonly number: number;
}

/** Number of lines per request. */
const blockLines = 64;
/** Maximum number of UTF-16 code units to keep. */
const keptCharacters = 24 << 20;
/** Maximum number of blocks waiting to be loaded. When the user scrolls quickly, older blocks are no longer visible. */
const maxWaiting = 4;

interface Block {
	readonly lines: StoredLine[];
	characters: number;
}

export interface LineStoreEvents {
	/** Called when lines have been loaded. */
	loaded(from: number, end: number): void;
	failed(error: unknown): void;
}

/** Lines of a long text. Loads lines on demand, and keeps the most recently used ones. Pure apart from `load`. */
export class LineStore {
	readonly #load: (from: number, count: number) => Promise<LoadedLines>;
	readonly #events: LineStoreEvents;
	readonly #blocks = new Map<number, Block>();
	#waiting: number[] = [];
	#loading = false;
	#closed = false;
	#characters = 0;
	/** Changes when the text grows, so that pending lines are requested again. */
	#generation = 0;
	count: number;

	constructor(count: number, load: (from: number, count: number) => Promise<LoadedLines>, events: LineStoreEvents) {
		this.count = count;
		this.#load = load;
		this.#events = events;
	}

	/** Returns a line. If it is not loaded, starts loading it and returns null. */
	get(line: number): StoredLine | null {
		const at = Math.floor(line / blockLines);
		const block = this.#blocks.get(at);
		const found = block?.lines[line - at * blockLines];
		if (block !== undefined && found !== undefined) {
			// Most recently used blocks are last.
			this.#blocks.delete(at);
			this.#blocks.set(at, block);
			this.#loadAhead(line, at);
			return found;
		}
		if (line >= this.count) return null;
		this.#waiting = [...this.#waiting.filter((other) => other !== at), at].slice(-maxWaiting);
		if (!this.#loading) void this.#pump();
		return null;
	}

	/** Prefetches the block that the user is likely to scroll to next. Visible lines are loaded first. */
	#loadAhead(line: number, at: number): void {
		const next = line - at * blockLines < blockLines / 2 ? at - 1 : at + 1;
		if (next < 0 || next * blockLines >= this.count || this.#blocks.has(next) || this.#waiting.includes(next)) return;
		if (this.#waiting.length < maxWaiting) this.#waiting.unshift(next);
		if (!this.#loading) void this.#pump();
	}

	/** Registers appended lines. The last line may have changed as well. */
	grow(count: number): void {
		this.#drop(Math.floor((this.count - 1) / blockLines));
		this.count = count;
		this.#generation++;
	}

	/** Loads all lines again, because they have changed. */
	reload(): void {
		this.#blocks.clear();
		this.#characters = 0;
		this.#generation++;
	}

	/** Ignores further results. */
	close(): void {
		this.#closed = true;
		this.#waiting = [];
	}

	async #pump(): Promise<void> {
		this.#loading = true;
		try {
			for (let at = this.#waiting.pop(); at !== undefined; at = this.#waiting.pop()) {
				const generation = this.#generation;
				try {
					await this.#fill(at);
				} catch (error) {
					// The request was rejected because the text has grown in the meantime.
					if (generation === this.#generation || this.#closed) throw error;
					this.#waiting.push(at);
				}
			}
		} catch (error) {
			this.#waiting = [];
			if (!this.#closed) this.#events.failed(error);
		} finally {
			this.#loading = false;
		}
	}

	async #fill(at: number): Promise<void> {
		const generation = this.#generation;
		const end = Math.min(this.count, (at + 1) * blockLines);
		const block = this.#blocks.get(at) ?? { lines: [], characters: 0 };
		for (let from = at * blockLines + block.lines.length; from < end; ) {
			const { lines, numbers, open } = await this.#load(from, end - from);
			if (this.#closed || lines.length === 0) return;
			if (generation !== this.#generation) {
				// The last line may have changed.
				this.#waiting.push(at);
				return;
			}
			for (const [i, text] of lines.entries()) {
				const number = numbers[i] as number;
				const read =
					text === null
						? { messages: [], fault: lineTooLong }
						: readMessageLine(text, number, !(open && i === lines.length - 1));
				block.lines.push({ ...read, text: text ?? '', number });
				block.characters += text?.length ?? 0;
				this.#characters += text?.length ?? 0;
			}
			this.#blocks.set(at, block);
			const loaded = from;
			from += lines.length;
			this.#evict(at);
			this.#events.loaded(loaded, from);
		}
	}

	#evict(except: number): void {
		for (const at of this.#blocks.keys()) {
			if (this.#characters <= keptCharacters) return;
			if (at !== except) this.#drop(at);
		}
	}

	#drop(at: number): void {
		this.#characters -= this.#blocks.get(at)?.characters ?? 0;
		this.#blocks.delete(at);
	}
}
