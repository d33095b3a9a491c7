import { type AbortSignalLike, checkAborted } from '../../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../../files/frame.ts';
import type { LineFile } from '../../../files/lineFile.ts';
import { Turns } from '../../../files/turns.ts';
import type { PartsRequest } from './partsMessages.ts';
import { partsThreads } from './partsThreads.ts';

/** Size of text that is read in a thread; less takes hardly longer than starting one. */
export const smallestInThread = 16 << 20;

/** A file in JSON lines of which only parts of the records are needed. Large files are read in threads. */
export class PartsFile implements FrameFile {
	readonly #lines: LineFile;
	readonly #request: Omit<PartsRequest, 'after'>;

	/** @param request the file that `lines` reads, which has to stay open */
	constructor(lines: LineFile, request: Omit<PartsRequest, 'after'>) {
		this.#lines = lines;
		this.#request = request;
	}

	get size(): number {
		return this.#lines.size;
	}

	get modifiedMs(): number {
		return this.#lines.modifiedMs;
	}

	get stamp(): string {
		return this.#lines.stamp;
	}

	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const start = after === undefined ? 0 : after.offset + after.length;
		const large = this.size - start >= smallestInThread;
		const batches = large ? partsThreads.read({ ...this.#request, after: after ?? null }, signal) : null;
		if (batches === null) {
			yield* this.#lines.frames(signal, after);
			return;
		}
		const turns = new Turns(signal);
		let last = after;
		try {
			for await (const frames of batches) {
				checkAborted(signal);
				for (const frame of frames) {
					yield frame;
					last = frame;
				}
				if (turns.due) await turns.pass();
			}
			return;
		} catch {
			checkAborted(signal);
			// Without a thread, reading either succeeds, or fails with the file's own error.
		}
		yield* this.#lines.frames(signal, last);
	}

	frame(place: FramePlace): Promise<Frame> {
		return this.#lines.frame(place);
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#lines.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#lines.close();
	}
}
