/** Bytes that can be read at any position: a file, or the decompressed contents of one. */
export interface ByteSource {
	readonly size: number;
	readonly modifiedMs: number;
	/** Changes whenever the file is written to or replaced. */
	readonly stamp: string;
	/** Message about bytes that are missing at the end, such as after a truncated copy; absent if there are none. */
	readonly damage?: string | undefined;
	/**
	 * Returns fewer bytes than requested if the source has shrunk, or if it can return only part of them at once. Fails
	 * with `UnreadableBytes` if a part of the source is damaged and later parts can still be read.
	 */
	read(offset: number, length: number): Promise<Buffer>;
	/** Returns up to 64 bytes before a position. */
	bytesBefore(position: number): Promise<Buffer>;
	close(): Promise<void>;
}

/** A damaged part of a source, up to `end`. The message is a sentence fragment. */
export class UnreadableBytes extends Error {
	readonly end: number;

	constructor(message: string, end: number) {
		super(message);
		this.end = end;
	}
}
