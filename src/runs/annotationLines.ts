import { lstat } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import { parseLine } from '../files/jsonLines.ts';
import { LineTail } from '../files/lineTail.ts';
import { decode, type Schema } from '../protocol/decode.ts';
import { appendAnnotation } from './appendAnnotation.ts';

/**
 * Human ratings as a file of an annotation folder: one line a change, the last line of a key counts. A change is one
 * write at the end of the file, so that several windows and processes may write at once and nothing of anybody is lost; a
 * line that a crash has torn, or that is none of the kind, is passed over and counted. Not for calls at the same time.
 */
export class AnnotationLines<T extends object> {
	readonly #folder: string;
	readonly #file: string;
	readonly #schema: Schema<T>;
	readonly #keyOf: (record: T) => string;
	readonly #records = new Map<string, T>();
	#tail: LineTail;
	#unreadable = 0;

	/** @param folder see `annotationFolder`; it need not be there */
	constructor(folder: string, file: string, schema: Schema<T>, keyOf: (record: T) => string) {
		this.#folder = folder;
		this.#file = file;
		this.#schema = schema;
		this.#keyOf = keyOf;
		this.#tail = new LineTail(folder, file);
	}

	/** Lines that are none of the kind, of what was read. */
	get unreadable(): number {
		return this.#unreadable;
	}

	/** Reads what has been added. By key, in order of their first line. */
	async read(): Promise<ReadonlyMap<string, T>> {
		const info = await lstat(this.#folder).catch(() => null);
		if (info !== null && !info.isDirectory()) {
			throw new Failure(
				'invalid',
				`${this.#folder} is not a folder, so ${this.#file} in it is not read.`,
				'Remove it.',
			);
		}
		for (;;) {
			const lines = await this.#tail.read();
			if (lines === null) return this.#records;
			if (lines === 'replaced') {
				this.#tail = new LineTail(this.#folder, this.#file);
				this.#records.clear();
				this.#unreadable = 0;
				continue;
			}
			for (const line of lines) {
				if (line.length === 0) continue;
				const decoded = decode(this.#schema, parseLine(line));
				if (decoded.ok) this.#records.set(this.#keyOf(decoded.value), decoded.value);
				else this.#unreadable++;
			}
		}
	}

	/** Fails with `denied`, `full` or `invalid` (the file is a link). */
	async append(record: T): Promise<void> {
		await appendAnnotation(this.#folder, this.#file, [record]);
		await this.read();
	}
}
