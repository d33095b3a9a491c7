import type { AbortSignalLike } from '../base/async.ts';

/** A file that was written to so recently may still be being written. */
export const freshMs = 60_000;

/** A piece of a file: a line, an event, a row, or all of it. */
export interface Frame {
	/** Bytes of a line or an event; 0 elsewhere. */
	readonly offset: number;
	readonly length: number;
	/** Which piece, from 1. */
	readonly number: number;
	/** What is in it: mostly one record. Empty where there is a fault. */
	readonly records: readonly unknown[];
	/** Why it could not be read, in words. */
	readonly fault: string | null;
	/** Nothing follows it and it is not whole: it may still be being written. */
	readonly torn: boolean;
	/** How many records a fault lost, where that is known; else one. */
	readonly lost?: number;
}

export interface FramePlace {
	readonly offset: number;
	readonly length: number;
	readonly number: number;
}

/** A piece of a file that was read through once, and what could not be read of it. */
export interface KnownPiece extends FramePlace {
	readonly unread?: Pick<Frame, 'fault' | 'torn' | 'lost'>;
}

/** A file opened for reading, cut into its pieces. */
export interface FrameFile {
	readonly size: number;
	readonly modifiedMs: number;
	/** Changes when the file is replaced or written to. */
	readonly stamp: string;
	/** From an earlier place on, or all of them. Fails with `cancelled`. */
	frames(signal?: AbortSignalLike, after?: FramePlace): AsyncGenerator<Frame>;
	/** One of them again. */
	frame(place: FramePlace): Promise<Frame>;
	/** The last bytes before a position, to tell a file that grew from one that was rewritten. */
	bytesBefore(position: number): Promise<Uint8Array>;
	close(): Promise<void>;
}
