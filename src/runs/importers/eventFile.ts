import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { maskedCrc32c } from './crc32c.ts';
import { type TensorboardValue, tensorboardValues } from './tensorboardEvent.ts';

const chunkBytes = 1 << 20;
/** Bytes before an event: its length and the checksum of the length. The event's own checksum follows it. */
const before = 12;
const after = 4;
/** Largest event to read; events with images can be larger and are skipped. */
const largestEvent = 16 << 20;

/**
 * A TensorBoard event file: a sequence of events in TFRecord format. An event that does not match its checksum is a
 * fault. If the length of an event does not match its checksum, the start of the next event is unknown.
 */
export class EventFile implements FrameFile {
	readonly #file: OpenedFile;
	readonly #together: number;

	/** @param together maximum number of events in a frame */
	constructor(file: OpenedFile, together = 1) {
		this.#file = file;
		this.#together = together;
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

	async *frames(signal?: AbortSignalLike, from?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		let position = from === undefined ? 0 : from.offset + from.length;
		let number = from === undefined ? 1 : from.number + 1;
		let held: Buffer = Buffer.alloc(0);
		let heldAt = position;
		const isHeld = (offset: number, length: number) => offset >= heldAt && offset + length <= heldAt + held.length;
		const hold = async (offset: number, length: number) => {
			held = await this.#file.read(offset, Math.min(this.size - offset, Math.max(chunkBytes, length)));
			heldAt = offset;
		};
		const intact = new IntactEvents(this.#together);
		while (position < this.size) {
			const place = { offset: position, length: 0, number };
			// Awaiting each of many small events would take longer than decoding them.
			if (!isHeld(position, before)) await hold(position, before);
			let complete = isHeld(position, before);
			const length = complete ? lengthIn(held, position - heldAt) : 0;
			const whole = length === null ? 0 : before + length + after;
			complete &&= position + whole <= this.size;
			if (complete && length !== null && length <= largestEvent && !isHeld(position, whole)) {
				await hold(position, whole);
				// The buffer contains less if the file has shrunk since it was opened.
				complete = isHeld(position, whole);
			}
			if (!complete || length === null) {
				const unreadable = `the length of event ${number} is unreadable; the rest of the file is skipped`;
				if (intact.frame !== null) yield intact.frame;
				if (length === null) yield { ...place, ...fault(unreadable) };
				else yield { ...place, ...fault('truncated within an event'), torn: true };
				return;
			}
			let message: string | null = null;
			let records: readonly TensorboardValue[] = [];
			if (length > largestEvent) message = `event ${number} is larger than 16 MiB`;
			else {
				const read = eventIn(held, position - heldAt, length, number);
				if (typeof read === 'string') message = read;
				else records = read;
			}
			const done = message !== null || !intact.add(position, whole, number, records);
			if (done && intact.frame !== null) {
				yield intact.frame;
				intact.clear();
			}
			if (message !== null) yield { ...place, length: whole, ...fault(message) };
			position += whole;
			number++;
			if (turns.due) await turns.pass();
		}
		if (intact.frame !== null) yield intact.frame;
	}

	async frame(place: FramePlace): Promise<Frame> {
		const bytes = await this.#file.read(place.offset, Math.min(place.length, largestEvent));
		const length = bytes.length - before - after;
		if (length < 0 || lengthIn(bytes, 0) !== length) return { ...place, ...fault('not an event') };
		const read = eventIn(bytes, 0, length, place.number);
		if (typeof read === 'string') return { ...place, ...fault(read) };
		return { ...place, records: read, fault: null, torn: false };
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}
}

/** Adjacent events without errors, which become one frame. */
class IntactEvents {
	readonly #most: number;
	#count = 0;
	frame: (Frame & { length: number; number: number; readonly records: TensorboardValue[] }) | null = null;

	constructor(most: number) {
		this.#most = most;
	}

	/** Adds an event. Returns false if there is no room for another one. */
	add(offset: number, length: number, number: number, records: readonly TensorboardValue[]): boolean {
		if (this.frame === null) this.frame = { offset, length, number, records: [...records], fault: null, torn: false };
		else {
			this.frame.length += length;
			this.frame.number = number;
			this.frame.records.push(...records);
		}
		this.#count++;
		return this.#count < this.#most;
	}

	clear(): void {
		this.frame = null;
		this.#count = 0;
	}
}

/** Returns the values in the event at a position, or why it is unreadable. */
function eventIn(bytes: Buffer, at: number, length: number, number: number): readonly TensorboardValue[] | string {
	const start = at + before;
	const end = start + length;
	if (maskedCrc32c(bytes, start, end) !== bytes.readUInt32LE(end)) return `event ${number} does not match its checksum`;
	try {
		return tensorboardValues(bytes, start, end);
	} catch (error) {
		return `event ${number}: ${(error as Error).message}`;
	}
}

/** Returns null if the length does not match its checksum. */
function lengthIn(bytes: Buffer, at: number): number | null {
	const length = bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
	return maskedCrc32c(bytes, at, at + 8) === bytes.readUInt32LE(at + 8) ? length : null;
}

function fault(message: string): Pick<Frame, 'records' | 'fault' | 'torn'> {
	return { records: [], fault: message, torn: false };
}
