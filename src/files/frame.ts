import type { AbortSignalLike } from '../base/async.ts';

/** Age in milliseconds below which a file may still be open for writing. */
export const freshMs = 60_000;

/** A unit of a file: a line, an event, a row, or the whole file. */
export interface Frame {
	/** Byte offset of a line or event; 0 for other formats. */
	readonly offset: number;
	readonly length: number;
	/** One-based index. */
	readonly number: number;
	/** Parsed records, usually one. Empty if there was an error. */
	readonly records: readonly unknown[];
	/** Error message if the frame is unreadable. */
	readonly fault: string | null;
	/** Whether this is an incomplete frame at the end of the file. A writer may still be appending to it. */
	readonly torn: boolean;
	/** Number of records lost to the error. Defaults to 1 if unknown. */
	readonly lost?: number;
}

export interface FramePlace {
	readonly offset: number;
	readonly length: number;
	readonly number: number;
}

/** A frame from an earlier full read, along with its read error, if any. */
export interface KnownPiece extends FramePlace {
	readonly unread?: Pick<Frame, 'fault' | 'torn' | 'lost'>;
}

/** A file opened for reading as a sequence of frames. */
export interface FrameFile {
	readonly size: number;
	readonly modifiedMs: number;
	/** Changes whenever the file is written to or replaced. */
	readonly stamp: string;
	/** Yields all frames, or those after a given position. Fails with `cancelled`. */
	frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame>;
	/** Rereads a frame. */
	frame(place: FramePlace): Promise<Frame>;
	/** Returns the last bytes before a position, to distinguish a file that has grown from one that was rewritten. */
	bytesBefore(position: number): Promise<Uint8Array>;
	close(): Promise<void>;
}
