/** Signature of the local header before each member. */
export const localMark = 0x04034b50;

/** A file in a zip archive. */
export interface ZipMember {
	readonly name: string;
	readonly method: number;
	/** Compressed size. */
	readonly packed: number;
	readonly size: number;
	readonly crc: number;
	/** Position of the member's local header. */
	readonly offset: number;
	readonly encrypted: boolean;
}
