import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { DecodedFile } from './decodedFile.ts';
import type { TableShape } from './decoding/decodingMessages.ts';
import { newestField } from './sqliteRows.ts';

const rowsAtOnce = 512;

/** A Parquet file with one record per row. Rows are decoded in chunks in the decoding thread. */
export class ParquetFile implements FrameFile {
	readonly #file: OpenedFile;
	readonly #decoded: DecodedFile;
	readonly #lastOf: string | undefined;
	#newest: Promise<unknown> | null = null;

	/** @param lastOf column whose value in the last row is added to each record, as `newest` */
	constructor(file: OpenedFile, lastOf?: string) {
		this.#file = file;
		this.#lastOf = lastOf;
		this.#decoded = new DecodedFile(file, 'parquet');
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

	/** A file that is still being written has no footer, so it counts as incomplete. */
	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		let shape: TableShape;
		try {
			shape = await this.#decoded.shape();
		} catch (error) {
			yield { ...fault(0, `not readable as Parquet: ${words(error)}`), torn: true };
			return;
		}
		let start = 0;
		for (const rows of shape.groups) {
			const end = start + rows;
			let count = 0;
			for (let from = Math.max(start, after?.number ?? 0); from < end; from += count) {
				const to = Math.min(end, from + rowsAtOnce);
				try {
					const records = await this.#decoded.rows(from, to);
					count = records.length;
					if (count === 0) throw new Error('rows are missing');
					for (let i = 0; i < records.length; i++) {
						yield {
							offset: 0,
							length: 0,
							number: from + i + 1,
							records: [await this.#record(records[i])],
							fault: null,
							torn: false,
						};
						if (turns.due) await turns.pass();
					}
				} catch (error) {
					if (signal?.aborted) await turns.pass();
					yield fault(from + 1, `rows ${from + 1} to ${end} cannot be read: ${words(error)}`, end - from);
					break;
				}
				await turns.pass();
			}
			start = end;
		}
		if (start !== shape.rows) {
			const lost = Math.max(1, shape.rows - start);
			yield fault(start + 1, `has ${start} rows, but its footer declares ${shape.rows}`, lost);
		}
	}

	async frame({ number }: FramePlace): Promise<Frame> {
		try {
			const [record] = await this.#decoded.rows(number - 1, number);
			const records = record === undefined ? [] : [await this.#record(record)];
			return { offset: 0, length: 0, number, records, fault: null, torn: false };
		} catch (error) {
			return fault(number, words(error));
		}
	}

	async #record(row: unknown): Promise<unknown> {
		const lastOf = this.#lastOf;
		if (lastOf === undefined || typeof row !== 'object' || row === null) return row;
		this.#newest ??= this.#newestValue(lastOf);
		return { ...row, [newestField]: await this.#newest };
	}

	async #newestValue(column: string): Promise<unknown> {
		const { rows } = await this.#decoded.shape();
		const [last] = rows === 0 ? [] : await this.#decoded.rows(rows - 1, rows);
		return (last as Readonly<Record<string, unknown>> | undefined)?.[column];
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}
}

function fault(number: number, message: string, records = 1): Frame {
	return { offset: 0, length: 0, number, records: [], fault: message, torn: false, lost: records };
}

function words(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
