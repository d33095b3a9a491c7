import { lstat } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import { parseLine } from '../files/jsonLines.ts';
import { LineTail } from '../files/lineTail.ts';
import { decode, type Schema } from '../protocol/decode.ts';
import { appendAnnotation } from './appendAnnotation.ts';

/**
 * Human ratings in a file in an annotation folder: one line per change, and the last line for a key wins. Each change
 * is a single write at the end of the file, so several windows and processes can write simultaneously without losing
 * data. Lines that are invalid or were truncated by a crash are skipped and counted. Calls must not overlap.
 */
export class AnnotationLines<T extends object> {
	readonly #folder: string;
	readonly #file: string;
	readonly #schema: Schema<T>;
	readonly #keyOf: (record: T) => string;
	readonly #records = new Map<string, T>();
	#tail: LineTail;
	#unreadable = 0;

	/** @param folder see `annotationFolder`; does not have to exist */
	constructor(folder: string, file: string, schema: Schema<T>, keyOf: (record: T) => string) {
		this.#folder = folder;
		this.#file = file;
		this.#schema = schema;
		this.#keyOf = keyOf;
		this.#tail = new LineTail(folder, file);
	}

	/** Number of invalid lines among those read so far. */
	get unreadable(): number {
		return this.#unreadable;
	}

	/** Reads the lines added since the last call. Returns records by key, in the order of their first line. */
	async read(): Promise<ReadonlyMap<string, T>> {
		const info = await lstat(this.#folder).catch(() => null);
		if (info !== null && !info.isDirectory()) {
			throw new Failure(
				'invalid',
				`${this.#folder} is not a folder, so ${this.#file} inside it was not read.`,
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
