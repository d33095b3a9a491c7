import { crc32 } from 'node:zlib';
import type { AbortSignalLike } from '../../base/async.ts';
import type { Frame, FrameFile, FramePlace } from '../../files/frame.ts';
import type { OpenedFile } from '../../files/openedFile.ts';
import { Turns } from '../../files/turns.ts';
import { wandbRecord } from './wandbRecord.ts';

/*
 * Transaction log of a W&B run (wandb/sdk/internal/datastore.py): LevelDB's log format with zlib's CRC-32. Records are
 * split into chunks so that none crosses a block boundary.
 */

const blockBytes = 32 << 10;
const headerBytes = 7;
const kinds = { full: 1, first: 2, middle: 3, last: 4 } as const;
const largestRecord = 64 << 20;
const start = headerBytes;

/** Returns whether a file has the header of a transaction log. */
export const isWandbLog = (head: string) => head.startsWith(':W&B');

interface Chunk {
	readonly kind: number;
	readonly data: Buffer;
	readonly end: number;
}

/** One record per logged entry. A damaged record is a fault; reading continues at the next block. */
export class WandbFile implements FrameFile {
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

	async *frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame> {
		const turns = new Turns(signal);
		let position = after === undefined ? start : after.offset + after.length;
		let number = after?.number ?? 0;
		if (after === undefined && this.size > 0 && !isWandbLog((await this.#file.read(0, 4)).toString('latin1'))) {
			yield { offset: 0, length: 0, number: 1, ...fault('not a W&B transaction log') };
			return;
		}
		while (position < this.size) {
			const frame = await this.#frameAt(position, ++number);
			if (frame === null) return;
			yield frame;
			if (frame.torn) return;
			position = frame.offset + frame.length;
			if (turns.due) await turns.pass();
		}
	}

	async frame(place: FramePlace): Promise<Frame> {
		return (await this.#frameAt(place.offset, place.number)) ?? { ...place, ...fault('is missing') };
	}

	bytesBefore(position: number): Promise<Uint8Array> {
		return this.#file.bytesBefore(position);
	}

	close(): Promise<void> {
		return this.#file.close();
	}

	/** Reads the record at a position; null if only padding follows. */
	async #frameAt(position: number, number: number): Promise<Frame | null> {
		const parts: Buffer[] = [];
		let length = 0;
		for (let at = position; ; ) {
			const chunk = await this.#chunkAt(at);
			if (chunk === 'end' && parts.length === 0) return null;
			const place = { offset: position, length: this.size - position, number };
			if (chunk === 'end' || chunk === 'cut') return { ...place, ...fault('truncated within a record'), torn: true };
			const isFirst = parts.length === 0;
			if (chunk === 'damaged' || isFirst !== (chunk.kind === kinds.full || chunk.kind === kinds.first)) {
				const next = Math.min(this.size, (Math.floor(at / blockBytes) + 1) * blockBytes);
				const what = `damaged between bytes ${position} and ${next}`;
				return { offset: position, length: next - position, number, ...fault(what) };
			}
			length += chunk.data.length;
			if (length <= largestRecord) parts.push(chunk.data);
			at = chunk.end;
			if (chunk.kind !== kinds.full && chunk.kind !== kinds.last) continue;
			const whole = { offset: position, length: at - position, number };
			if (length > largestRecord) return { ...whole, ...fault(`record ${number} is larger than 64 MiB`) };
			return this.#decoded(whole, parts);
		}
	}

	#decoded(place: FramePlace, parts: readonly Buffer[]): Frame {
		try {
			const record = wandbRecord(Buffer.concat(parts));
			return { ...place, records: record === null ? [] : [record], fault: null, torn: false };
		} catch (error) {
			return { ...place, ...fault(`record ${place.number}: ${(error as Error).message}`) };
		}
	}

	async #chunkAt(position: number): Promise<Chunk | 'end' | 'cut' | 'damaged'> {
		let at = position;
		const left = blockBytes - (at % blockBytes);
		if (left < headerBytes) at += left;
		const head = await this.#file.read(at, headerBytes);
		if (head.length < headerBytes) return head.every((byte) => byte === 0) ? 'end' : 'cut';
		const length = head.readUInt16LE(4);
		const kind = head.readUInt8(6);
		// Space that the writer has reserved but not filled.
		if (kind === 0 && length === 0 && head.readUInt32LE(0) === 0) return 'end';
		if (kind < kinds.full || kind > kinds.last) return 'damaged';
		if ((at % blockBytes) + headerBytes + length > blockBytes) return 'damaged';
		const data = await this.#file.read(at + headerBytes, length);
		if (data.length < length) return 'cut';
		const sum = crc32(data, crc32(head.subarray(6, 7)));
		return sum === head.readUInt32LE(0) ? { kind, data, end: at + headerBytes + length } : 'damaged';
	}
}

function fault(message: string): Pick<Frame, 'records' | 'fault' | 'torn'> {
	return { records: [], fault: message, torn: false };
}
