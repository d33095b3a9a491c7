import { read } from 'node:fs';
import { promisify } from 'node:util';
import { tableBytes } from '../../../base/decodingLimits.ts';
import { ArrowColumns, type ColumnSource, objectOf } from './arrowColumns.ts';
import {
	type ArrowMessages,
	type BatchPlace,
	type DictionaryPlace,
	findMessages,
	type ReadBytes,
	readLayout,
} from './arrowMessages.ts';
import type { ArrowType } from './arrowSchema.ts';
import type { TableShape } from './decodingMessages.ts';
import { answerBytes, largestRow } from './rowLimits.ts';

const readAt = promisify(read);

/** Record batches up to this size are read whole; from larger ones, only the bytes of the requested rows. */
const heldBytes = 16 << 20;
/** Maximum total size of the dictionary values that a batch refers to. */
const dictionaryBytes = 64 << 20;

/** Thrown if there are more values than fit in one response. */
class TooLarge extends Error {}

/**
 * Reads rows of one Arrow file through its descriptor, in the stream or the file format. Runs in the decoding thread.
 */
export class ArrowRows {
	readonly #size: number;
	readonly #read: ReadBytes;
	/**
	 * Limit on the decoded size of all rows in the file, and the decoded size of the rows before `#counted`, in bytes.
	 */
	readonly #maxDecoded: number;
	#decoded = 0;
	#counted = 0;
	#messages: Promise<ArrowMessages> | null = null;
	/** Number of rows that fit in the last response. */
	#fitting = Number.POSITIVE_INFINITY;
	#held: { readonly place: BatchPlace; readonly body: Uint8Array } | null = null;
	/** Dictionaries by id, in their state after a given number of dictionary batches. */
	#dictionaries: { readonly behind: number; readonly values: Map<number, Promise<readonly unknown[]>> } = {
		behind: 0,
		values: new Map(),
	};
	#dictionaryLeft = dictionaryBytes;

	/** @param maxDecoded limit on the decoded size of all rows, in bytes */
	constructor(descriptor: number, size: number, maxDecoded = tableBytes(size)) {
		this.#size = size;
		this.#maxDecoded = maxDecoded;
		this.#read = async (at, length) => {
			if (at < 0 || at + length > size) throw new Error(`bytes ${at} to ${at + length} of ${size}`);
			const bytes = new Uint8Array(length);
			for (let filled = 0; filled < length; ) {
				const { bytesRead } = await readAt(descriptor, bytes, filled, length - filled, at + filled);
				if (bytesRead === 0) throw new Error('the file is shorter than before');
				filled += bytesRead;
			}
			return bytes;
		};
	}

	/** Treats every record batch as a group. Fails if the file claims far more rows than it can contain. */
	async shape(): Promise<TableShape> {
		const { fields, batches } = await this.#found();
		const groups = batches.map(({ rows }) => rows);
		const rows = groups.reduce((sum, count) => sum + count, 0);
		if (rows * 8 > this.#maxDecoded) throw new Error(`it claims ${rows} rows in a file of ${this.#size} bytes`);
		return { groups, rows, columns: fields.map(({ name }) => name) };
	}

	/** Same as `ParquetRows.rows`. */
	async rows(from: number, to: number): Promise<readonly unknown[]> {
		const { fields, batches } = await this.#found();
		let start = 0;
		const place = batches.find(({ rows }) => {
			const inside = from < start + rows;
			if (!inside) start += rows;
			return inside;
		});
		if (place === undefined) throw new Error(`it has no row ${from + 1}`);
		const names = fields.map(({ name }) => name);
		const layout = await this.#sound(readLayout(this.#read, place));
		const first = from - start;
		let count = Math.min(to - from, place.rows - first, 2 * this.#fitting);
		for (;;) {
			let taken = 0;
			const max = count === 1 ? largestRow : answerBytes;
			const take = (bytes: number) => {
				taken += bytes;
				if (taken > max) throw new TooLarge(`a row is larger than ${max} bytes`);
			};
			try {
				take(8 * count);
				const lists = await new ArrowColumns(fields, layout, this.#source(place, take)).values(first, first + count);
				this.#count(from, from + count, taken);
				this.#fitting = count;
				return Array.from({ length: count }, (_, i) => objectOf(names, lists, i));
			} catch (error) {
				if (!(error instanceof TooLarge) || count === 1) throw error;
				count = Math.ceil(count / 2);
			}
		}
	}

	/** Counts each row only once, even if it is decoded several times. */
	#count(from: number, to: number, bytes: number): void {
		if (to <= this.#counted) return;
		this.#decoded += (bytes * (to - Math.max(from, this.#counted))) / (to - from);
		this.#counted = to;
		if (this.#decoded > this.#maxDecoded) {
			throw new Error(`its rows decode to more than ${this.#maxDecoded} bytes from a file of ${this.#size}`);
		}
	}

	#source(place: BatchPlace, take: ColumnSource['take']): ColumnSource {
		return {
			take,
			bytes: (offset, length) => this.#bytes(place, offset, length),
			dictionary: (id, values) => this.#dictionary(place.dictionaries, id, values, []),
		};
	}

	async #bytes(place: BatchPlace, offset: number, length: number): Promise<Uint8Array> {
		if (offset + length > place.bodyBytes) throw new Error(`a buffer extends beyond its record batch`);
		if (place.bodyBytes > heldBytes) return this.#read(place.bodyAt + offset, length);
		if (this.#held?.place !== place) {
			this.#held = { place, body: await this.#read(place.bodyAt, place.bodyBytes) };
		}
		return this.#held.body.subarray(offset, offset + length);
	}

	/** @param outer the dictionaries that are waiting for this one; waiting for one of them would deadlock */
	#dictionary(behind: number, id: number, type: ArrowType, outer: readonly number[]): Promise<readonly unknown[]> {
		if (outer.includes(id)) throw new Error(`dictionary ${id} refers to itself`);
		if (this.#dictionaries.behind !== behind) {
			this.#dictionaries = { behind, values: new Map() };
			this.#dictionaryLeft = dictionaryBytes;
		}
		const { values } = this.#dictionaries;
		const known = values.get(id);
		if (known !== undefined) return known;
		const made = this.#readDictionary(behind, id, type, outer);
		values.set(id, made);
		return made;
	}

	async #readDictionary(
		behind: number,
		id: number,
		type: ArrowType,
		outer: readonly number[],
	): Promise<readonly unknown[]> {
		const { dictionaries } = await this.#found();
		const own: DictionaryPlace[] = [];
		for (const place of dictionaries.slice(0, behind)) {
			if (place.id !== id) continue;
			if (!place.delta) own.length = 0;
			own.push(place);
		}
		if (own.length === 0) throw new Error(`dictionary ${id} is missing`);
		const values: unknown[] = [];
		for (const place of own) {
			const take = (bytes: number) => {
				this.#dictionaryLeft -= bytes;
				if (this.#dictionaryLeft < 0) throw new Error(`it has dictionaries larger than ${dictionaryBytes} bytes`);
			};
			const source: ColumnSource = {
				take,
				bytes: (offset, length) => this.#read(place.bodyAt + within(offset, length, place), length),
				dictionary: async (inner, values) => this.#dictionary(behind, inner, values, [...outer, id]),
			};
			const layout = await this.#sound(readLayout(this.#read, place, true));
			for (const value of await new ArrowColumns([{ name: '', type }], layout, source).all()) values.push(value);
		}
		return values;
	}

	/** Locates all messages. */
	#found(): Promise<ArrowMessages> {
		this.#messages ??= this.#sound(findMessages(this.#read, this.#size));
		return this.#messages;
	}

	/** Invalid offsets in the metadata surface as RangeErrors. */
	#sound<T>(metadata: Promise<T>): Promise<T> {
		return metadata.catch((error: unknown) => {
			throw error instanceof RangeError ? new Error('its metadata is damaged') : error;
		});
	}
}

function within(offset: number, length: number, place: BatchPlace): number {
	if (offset + length > place.bodyBytes) throw new Error('a buffer extends beyond its dictionary');
	return offset;
}
