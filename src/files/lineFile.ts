import type { AbortSignalLike } from '../base/async.ts';
import { type ByteSource, UnreadableBytes } from './byteSource.ts';
import type { Frame, FrameFile, FramePlace } from './frame.ts';
import { longestLine } from './jsonLines.ts';
import { JsonParts, type JsonShape, partsOfValue } from './jsonParts.ts';
import { parseLooseJson } from './looseJson.ts';
import { Turns } from './turns.ts';

const chunkBytes = 256 << 10;
const newline = 0x0a;
const decoder = new TextDecoder('utf-8');

interface LineFileOptions {
	readonly longest?: number;
	readonly plain?: boolean;
	readonly parts?: JsonShape | undefined;
}

/**
 * A file with one record per line, usually a JSON value. Only \n ends a line: strings can contain U+2028, U+2029 and
 * U+0085 unescaped.
 */
export class LineFile implements FrameFile {
	readonly #file: ByteSource;
	readonly #longest: number;
	readonly #plain: boolean;
	readonly #parts: JsonParts | null;
	readonly #shape: JsonShape;

	/**
	 * @param options `plain`: whether records are the lines themselves instead of JSON; `parts`: the parts of records to
	 * return
	 */
	constructor(file: ByteSource, { longest = longestLine, plain = false, parts }: LineFileOptions = {}) {
		this.#file = file;
		this.#longest = longest;
		this.#plain = plain;
		this.#parts = parts === undefined ? null : new JsonParts(parts);
		this.#shape = parts ?? true;
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

	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		let start = after === undefined ? 0 : after.offset + after.length + 1;
		let number = after === undefined ? 1 : after.number + 1;
		let parts: Uint8Array[] = [];
		let length = 0;
		let damage: string | null = null;
		let ahead: Promise<Buffer> | null = null;
		for (let position = start; position < this.size; ) {
			let chunk: Buffer;
			try {
				chunk = await (ahead ?? this.#chunk(position));
				ahead = position + chunk.length < this.size && chunk.length > 0 ? this.#chunk(position + chunk.length) : null;
				// The error is reported when the next chunk is read.
				ahead?.catch(() => undefined);
			} catch (error) {
				if (!(error instanceof UnreadableBytes)) throw error;
				// Lines that are partly or entirely in the damaged part count as one, up to the next newline.
				ahead = null;
				damage = error.message;
				length += error.end - position;
				position = error.end;
				continue;
			}
			if (chunk.length === 0) break;
			for (let from = 0; ; ) {
				const feed = chunk.indexOf(newline, from);
				const part = chunk.subarray(from, feed === -1 ? chunk.length : feed);
				length += part.length;
				if (length <= this.#longest) parts.push(part);
				else parts = [];
				if (feed === -1) break;
				const frame = this.#frame(parts, { offset: start, length, number }, false, damage);
				if (frame !== null) yield frame;
				if (turns.due) await turns.pass();
				from = feed + 1;
				start = position + from;
				number++;
				parts = [];
				length = 0;
				damage = null;
			}
			position += chunk.length;
			if (turns.due) await turns.pass();
		}
		const place = { offset: start, length, number };
		const last = length === 0 ? null : this.#frame(parts, place, true, damage);
		const missing = this.#file.damage;
		if (last !== null && (missing === undefined || last.fault === null)) yield last;
		if (missing !== undefined) yield { ...place, records: [], fault: missing, torn: true };
	}

	async frame(place: FramePlace): Promise<Frame> {
		let bytes: Buffer;
		try {
			bytes = await this.#file.read(place.offset, Math.min(place.length, this.#longest));
		} catch (error) {
			if (!(error instanceof UnreadableBytes)) throw error;
			return { ...place, records: [], fault: error.message, torn: false };
		}
		return this.#frame([bytes], place, false) ?? { ...place, records: [], fault: 'empty', torn: false };
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	#chunk(position: number): Promise<Buffer> {
		return this.#file.read(position, Math.min(chunkBytes, this.size - position));
	}

	/** Returns null for a blank line. A last line without \n counts as a record if it is complete. */
	#frame(parts: readonly Uint8Array[], place: FramePlace, last: boolean, damage: string | null = null): Frame | null {
		if (damage !== null) return { ...place, records: [], fault: damage, torn: false };
		if (place.length > this.#longest) {
			const fault = `longer than ${Math.floor(this.#longest / 2 ** 20)} MiB`;
			return { ...place, records: [], fault, torn: last };
		}
		const found = this.#parts?.of(parts) ?? null;
		if (found !== null) return { ...place, records: [JSON.parse(found)], fault: null, torn: false };
		const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
		const text = decoder.decode(bytes);
		if (text.trim() === '') return null;
		// Only the line break shows that a plain line is complete.
		if (this.#plain) {
			if (last) return { ...place, records: [], fault: 'truncated line', torn: true };
			return { ...place, records: [text], fault: null, torn: false };
		}
		try {
			return { ...place, records: [partsOfValue(parseLooseJson(text), this.#shape)], fault: null, torn: false };
		} catch {
			return { ...place, records: [], fault: last ? 'truncated JSON' : 'invalid JSON', torn: last };
		}
	}
}
