import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { DecodedFile } from './decodedFile.ts';

const rowsAtOnce = 64;

/**
 * A file written by torch.save, with one record per entry of a list in it. An entry's position is its index. The file is
 * decoded in the decoding thread, and none of the code that it refers to is run.
 */
export class TorchFile implements FrameFile {
	readonly #file: OpenedFile;
	readonly #decoded: DecodedFile;

	constructor(file: OpenedFile, list: string) {
		this.#file = file;
		this.#decoded = new DecodedFile(file, { format: 'torch', list });
	}

	get size(): number {
		return this.#file.size;
	}

	get modifiedMs(): number {
		return this.#file.modifiedMs;
	}

	get stamp(): string {
		return this.#file.stamp;
	}

	/** A file that is still being written has no zip directory, so it counts as incomplete. */
	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		let count: number;
		try {
			count = (await this.#decoded.shape()).rows;
		} catch (error) {
			const message = `not readable as a torch.save file: ${(error as Error).message}`;
			yield { ...placeOf(0), records: [], fault: message, torn: true };
			return;
		}
		for (let from = after?.number ?? 0; from < count; ) {
			let rows: readonly unknown[];
			try {
				rows = await this.#decoded.rows(from, Math.min(count, from + rowsAtOnce));
				if (rows.length === 0) throw new Error('entries are missing');
			} catch (error) {
				const message = `entries ${from + 1} to ${count} cannot be read: ${(error as Error).message}`;
				yield { ...placeOf(from), records: [], fault: message, torn: false, lost: count - from };
				return;
			}
			for (const row of rows) {
				yield frameOf(from++, row);
				if (turns.due) await turns.pass();
			}
			await turns.pass();
		}
	}

	async frame({ offset }: FramePlace): Promise<Frame> {
		try {
			const [row] = await this.#decoded.rows(offset, offset + 1);
			return frameOf(offset, row ?? new Error('is missing'));
		} catch (error) {
			return frameOf(offset, error);
		}
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}
}

const placeOf = (index: number): FramePlace => ({ offset: index, length: 1, number: index + 1 });

function frameOf(index: number, row: unknown): Frame {
	if (!(row instanceof Error)) return { ...placeOf(index), records: [row], fault: null, torn: false };
	return { ...placeOf(index), records: [], fault: `entry ${index + 1} ${row.message}`, torn: false };
}
