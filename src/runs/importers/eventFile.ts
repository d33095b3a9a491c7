import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { maskedCrc32c } from './crc32c.ts';
import { tensorboardValues } from './tensorboardEvent.ts';

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

	constructor(file: OpenedFile) {
		this.#file = file;
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
		let held: Uint8Array = new Uint8Array(0);
		let heldAt = position;
		const isHeld = (offset: number, length: number) => offset >= heldAt && offset + length <= heldAt + held.length;
		const hold = async (offset: number, length: number) => {
			held = await this.#file.read(offset, Math.min(this.size - offset, Math.max(chunkBytes, length)));
			heldAt = offset;
		};
		const bytes = (offset: number, length: number) => held.subarray(offset - heldAt, offset - heldAt + length);
		while (position < this.size) {
			const place = { offset: position, length: 0, number };
			// Awaiting for each of many small events would take longer than decoding them.
			if (!isHeld(position, before)) await hold(position, before);
			const head = bytes(position, before);
			if (head.length < before) {
				yield { ...place, ...fault('truncated within an event'), torn: true };
				return;
			}
			const length = lengthIn(head);
			if (length === null) {
				yield { ...place, ...fault(`the length of event ${number} is unreadable; the rest of the file is skipped`) };
				return;
			}
			const whole = before + length + after;
			if (position + whole > this.size) {
				yield { ...place, ...fault('truncated within an event'), torn: true };
				return;
			}
			const sized = { ...place, length: whole };
			if (length > largestEvent) yield { ...sized, ...fault(`event ${number} is larger than 16 MiB`) };
			else {
				if (!isHeld(position, whole)) await hold(position, whole);
				yield this.#frame(sized, bytes(position, whole));
			}
			position += whole;
			number++;
			if (turns.due) await turns.pass();
		}
	}

	async frame(place: FramePlace): Promise<Frame> {
		const bytes = await this.#file.read(place.offset, Math.min(place.length, largestEvent));
		const fits = bytes.length >= before + after && lengthIn(bytes) === bytes.length - before - after;
		return fits ? this.#frame(place, bytes) : { ...place, ...fault('not an event') };
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	#frame(place: FramePlace, bytes: Uint8Array): Frame {
		const event = bytes.subarray(before, bytes.length - after);
		const sum = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - after, after).getUint32(0, true);
		if (maskedCrc32c(event) !== sum) {
			return { ...place, ...fault(`event ${place.number} does not match its checksum`) };
		}
		try {
			return { ...place, records: tensorboardValues(event), fault: null, torn: false };
		} catch (error) {
			return { ...place, ...fault(`event ${place.number}: ${(error as Error).message}`) };
		}
	}
}

/** Returns null if the length does not match its checksum. */
function lengthIn(head: Uint8Array): number | null {
	const view = new DataView(head.buffer, head.byteOffset, before);
	const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
	return maskedCrc32c(head.subarray(0, 8)) === view.getUint32(8, true) ? length : null;
}

function fault(message: string): Pick<Frame, 'records' | 'fault' | 'torn'> {
	return { records: [], fault: message, torn: false };
}
