import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import { type CutField, type CutValue, JsonCutter } from '../../files/jsonCutter.ts';
import { parseLooseJson } from '../../files/looseJson.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';

const decoder = new TextDecoder('utf-8');
const pieceBytes = 1 << 20;
/** Maximum size in bytes of a field next to the list. */
const largestBeside = 4 << 20;

/**
 * A large JSON object with a list, of which only one entry at a time is kept in memory. Each record is the object with
 * a single entry in its list, plus any wanted fields that precede the list.
 */
export class JsonListFile implements FrameFile {
	readonly #file: OpenedFile;
	readonly #list: string;
	readonly #fields: Readonly<Record<string, CutField>>;
	readonly #largest: number;
	#beside: Readonly<Record<string, unknown>> = {};

	/** @param largest maximum size in bytes of an entry */
	constructor(file: OpenedFile, list: string, beside: readonly string[], largest: number) {
		this.#file = file;
		this.#list = list;
		this.#largest = largest;
		const fields = beside.map((name) => [name, { into: 'value', bytes: largestBeside }] as const);
		this.#fields = { ...Object.fromEntries(fields), [list]: { into: 'entries', bytes: largest } };
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
		const beside: Record<string, unknown> = {};
		let waiting: Frame[] = [];
		let number = 0;
		const cutter = new JsonCutter(this.#fields, (value) => {
			if (value.field !== this.#list) {
				const known = value.whole && number === 0 ? parsed(value.bytes) : undefined;
				if (known !== undefined) beside[value.field] = known;
				return;
			}
			this.#beside = beside;
			if (++number > (after?.number ?? 0)) waiting.push(this.#frameOf(value, number));
		});
		let damage: string | null = null;
		for (let at = 0; at < this.size && !cutter.ended && damage === null; ) {
			const piece = await this.#file.read(at, Math.min(pieceBytes, this.size - at));
			if (piece.length === 0) break;
			at += piece.length;
			try {
				cutter.push(piece);
			} catch (error) {
				damage = `invalid JSON: ${(error as Error).message}`;
			}
			yield* waiting;
			waiting = [];
			await turns.pass();
		}
		if (cutter.ended) return;
		const place = { offset: this.size, length: 0, number: number + 1 };
		yield { ...place, records: [], fault: damage ?? 'invalid JSON: it ends too early', torn: true };
	}

	async frame(place: FramePlace): Promise<Frame> {
		const bytes = await this.#file.read(place.offset, Math.min(place.length, this.#largest + 1));
		const whole = place.length <= this.#largest && bytes.length === place.length;
		return this.#frameOf({ bytes, whole, start: place.offset, end: place.offset + place.length }, place.number);
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	#frameOf({ bytes, whole, start, end }: Pick<CutValue, 'bytes' | 'whole' | 'start' | 'end'>, number: number): Frame {
		const place = { offset: start, length: end - start, number };
		const entry = whole ? parsed(bytes) : undefined;
		if (entry !== undefined) {
			return { ...place, records: [{ ...this.#beside, [this.#list]: [entry] }], fault: null, torn: false };
		}
		const why = whole ? 'invalid JSON' : `larger than ${Math.floor(this.#largest / 2 ** 20)} MiB`;
		return { ...place, records: [], fault: `${this.#list}[${number - 1}] is ${why}`, torn: false };
	}
}

function parsed(bytes: Buffer): unknown {
	try {
		return parseLooseJson(decoder.decode(bytes));
	} catch {
		return undefined;
	}
}
