import type { FileHandle } from 'node:fs/promises';
import { Sequencer } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { openToAppend } from './safeFile.ts';

/** Append-only file of lines. Each line is either written whole and flushed, or absent. Appends run one at a time. */
export class AppendFile {
	readonly #path: string;
	#handle: FileHandle | null = null;
	#size = 0;
	readonly #turns = new Sequencer();

	constructor(path: string) {
		this.#path = path;
	}

	/** Appends text ending in `\n`. On failure (`full`, `denied`), truncates the file to its previous size. */
	append(text: string): Promise<void> {
		return this.#turns.queue(() => this.#append(text));
	}

	async #append(text: string): Promise<void> {
		let lines = text;
		try {
			if (this.#handle === null) {
				this.#handle = await openToAppend(this.#path);
				this.#size = (await this.#handle.stat()).size;
				// Keep a line torn by a crash from running into the next one.
				if (await endsTorn(this.#handle, this.#size)) lines = `\n${text}`;
			}
			await this.#handle.appendFile(lines);
			await this.#handle.datasync();
			this.#size += Buffer.byteLength(lines);
		} catch (error) {
			await this.#handle?.truncate(this.#size).catch(() => undefined);
			throw Failure.from(error, `Cannot write ${this.#path}`);
		}
	}

	/** Closes the file. A later append reopens it. */
	close(): Promise<void> {
		return this.#turns.queue(async () => {
			const handle = this.#handle;
			this.#handle = null;
			await handle?.close();
		});
	}
}

async function endsTorn(handle: FileHandle, size: number): Promise<boolean> {
	if (size === 0) return false;
	const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
	return buffer[0] !== 0x0a;
}
