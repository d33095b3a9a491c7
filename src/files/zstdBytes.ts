import { type ByteSource, UnreadableBytes } from './byteSource.ts';
import { decodeZstdFrame, type ZstdFrame, zstdFrameAt } from './zstdFrames.ts';
import { seekTable } from './zstdSeekTable.ts';

/** Maximum size of a decompressed frame. Writers of seekable files use frames of a few megabytes. */
const largestFrame = 64 << 20;
/** Maximum decompressed size of a frame to decode ahead of time, and number of such frames. */
const largestAhead = 16 << 20;
const framesAhead = 2;
const searchBytes = 1 << 20;
const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** A frame and the position of its contents. */
interface Piece {
	readonly frame: Pick<ZstdFrame, 'offset' | 'length'>;
	readonly start: number;
	/** Decompressed size; 1 if it is unknown because the frame is damaged. */
	readonly content: number;
	/** Whether the frame is truncated, in which case its complete blocks are used. */
	readonly partial: boolean;
	/** Why the frame cannot be decoded, if already known. */
	readonly fault: string | null;
}

interface DecodedPiece {
	readonly index: number;
	readonly bytes: Promise<Buffer>;
}

/**
 * The decompressed contents of a file with Zstandard frames, which are decoded one at a time. A damaged frame does not
 * affect the others.
 */
export class ZstdBytes implements ByteSource {
	readonly #file: ByteSource;
	readonly #pieces: readonly Piece[];
	readonly size: number;
	readonly damage: string | undefined;
	/** The last frame read, and the next ones if frames are read in order. */
	#current: DecodedPiece | null = null;
	#ahead: readonly DecodedPiece[] = [];

	private constructor(file: ByteSource, pieces: readonly Piece[], damage: string | undefined) {
		this.#file = file;
		this.#pieces = pieces;
		this.damage = damage;
		const last = pieces.at(-1);
		this.size = last === undefined ? 0 : last.start + last.content;
	}

	/** Locates the frames. Fails with Failure `unsupported` if this Node.js lacks Zstandard. */
	static async open(file: ByteSource): Promise<ZstdBytes> {
		const finder = new FrameFinder(file);
		const table = await seekTable(file);
		if (table !== null) for (const frame of table) finder.add(frame, frame.content);
		else await finder.walk();
		return new ZstdBytes(file, finder.pieces, finder.damage);
	}

	get modifiedMs(): number {
		return this.#file.modifiedMs;
	}

	get stamp(): string {
		return this.#file.stamp;
	}

	async read(offset: number, length: number): Promise<Buffer> {
		const parts: Buffer[] = [];
		const end = Math.min(this.size, offset + length);
		for (let at = offset; at < end; ) {
			const index = this.#indexAt(at);
			const piece = this.#pieces[index];
			if (piece === undefined) break;
			let bytes: Buffer;
			try {
				bytes = await this.#contents(index);
			} catch (error) {
				if (parts.length > 0) break;
				throw error;
			}
			const part = bytes.subarray(at - piece.start, Math.min(piece.content, end - piece.start));
			parts.push(part);
			at += part.length;
		}
		return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
	}

	async bytesBefore(position: number): Promise<Buffer> {
		const start = Math.max(0, position - 64);
		try {
			return await this.read(start, position - start);
		} catch (error) {
			if (error instanceof UnreadableBytes) return Buffer.alloc(0);
			throw error;
		}
	}

	close(): Promise<void> {
		this.#current = null;
		this.#ahead = [];
		return this.#file.close();
	}

	#indexAt(position: number): number {
		let [low, high] = [0, this.#pieces.length - 1];
		while (low < high) {
			const middle = (low + high + 1) >>> 1;
			if ((this.#pieces[middle] as Piece).start <= position) low = middle;
			else high = middle - 1;
		}
		return low;
	}

	#contents(index: number): Promise<Buffer> {
		if (this.#current?.index === index) return this.#current.bytes;
		const inOrder = this.#current?.index === index - 1;
		this.#current = this.#decoding(index);
		// Decoding uses other threads while this one reads the contents.
		this.#ahead = inOrder ? this.#following(index).map((next) => this.#decoding(next)) : [];
		return this.#current.bytes;
	}

	#following(index: number): number[] {
		const following = Array.from({ length: framesAhead }, (_, i) => index + 1 + i);
		return following.filter((next) => (this.#pieces[next]?.content ?? Number.POSITIVE_INFINITY) <= largestAhead);
	}

	#decoding(index: number): DecodedPiece {
		const started = this.#ahead.find((piece) => piece.index === index);
		if (started !== undefined) return started;
		const bytes = this.#decode(this.#pieces[index] as Piece);
		// The error is reported when the frame is read.
		bytes.catch(() => undefined);
		return { index, bytes };
	}

	async #decode(piece: Piece): Promise<Buffer> {
		const { frame, start, content, partial } = piece;
		const where = `bytes ${frame.offset} to ${frame.offset + frame.length} of the compressed file`;
		const unreadable = (why: string) => new UnreadableBytes(`${where} are unreadable (${why})`, start + content);
		if (piece.fault !== null) throw unreadable(piece.fault);
		let bytes: Buffer;
		try {
			bytes = await decodeZstdFrame(await this.#file.read(frame.offset, frame.length), content, partial);
		} catch (error) {
			throw unreadable((error as Error).message);
		}
		if (bytes.length !== content) throw unreadable(`${bytes.length} bytes instead of ${content}`);
		return bytes;
	}
}

/** Finds the frames of a file and the sizes of their contents. */
class FrameFinder {
	readonly #file: ByteSource;
	readonly pieces: Piece[] = [];
	damage: string | undefined;
	#position = 0;

	constructor(file: ByteSource) {
		this.#file = file;
	}

	add(frame: Piece['frame'], content: number, { partial = false, fault = null as string | null } = {}): void {
		const large = content > largestFrame ? `larger than ${largestFrame >> 20} MiB` : null;
		this.pieces.push({ frame, start: this.#position, content, partial, fault: fault ?? large });
		this.#position += content;
	}

	/** Finds frames by their headers, for files without a usable seek table. */
	async walk(): Promise<void> {
		const { size } = this.#file;
		const read = (offset: number, length: number) => this.#file.read(offset, length);
		for (let at = 0; at < size; ) {
			let frame: ZstdFrame | null;
			try {
				frame = await zstdFrameAt(read, at, size);
			} catch (error) {
				const next = await this.#nextFrame(at + 1);
				this.add({ offset: at, length: next - at }, 1, { fault: (error as Error).message });
				at = next;
				continue;
			}
			if (frame === null) {
				await this.#addTruncated(at);
				return;
			}
			if (!frame.skippable) await this.#addWhole(frame);
			at += frame.length;
		}
	}

	async #addWhole(frame: ZstdFrame): Promise<void> {
		if (frame.content !== null) {
			if (frame.content > 0) this.add(frame, frame.content);
			return;
		}
		try {
			const bytes = await decodeZstdFrame(await this.#file.read(frame.offset, frame.length), largestFrame);
			if (bytes.length > 0) this.add(frame, bytes.length);
		} catch (error) {
			this.add(frame, 1, { fault: (error as Error).message });
		}
	}

	async #addTruncated(offset: number): Promise<void> {
		const frame = { offset, length: this.#file.size - offset };
		this.damage = `the compressed file is truncated: its last frame, at byte ${offset}, is incomplete`;
		if (frame.length > largestFrame) return;
		try {
			const bytes = await decodeZstdFrame(await this.#file.read(offset, frame.length), largestFrame, true);
			if (bytes.length > 0) this.add(frame, bytes.length, { partial: true });
		} catch {
			// No part of the frame is readable. `damage` already reports this.
		}
	}

	/** Returns the position of the next frame's magic number, or the end of the file. */
	async #nextFrame(from: number): Promise<number> {
		const { size } = this.#file;
		for (let at = from; at < size; at += searchBytes) {
			const bytes = await this.#file.read(at, Math.min(searchBytes + magic.length - 1, size - at));
			const found = bytes.indexOf(magic);
			if (found >= 0) return at + found;
		}
		return size;
	}
}
