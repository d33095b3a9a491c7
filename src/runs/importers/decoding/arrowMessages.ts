import { type ArrowField, readSchema } from './arrowSchema.ts';
import { FlatTable } from './flatTable.ts';

/** Maximum metadata size; most of a schema message is custom metadata added by programs. */
const maxMetadata = 16 << 20;
const maxMessages = 1_000_000;
/** Number of bytes to read when scanning for messages, because small messages are close together. */
const windowBytes = 16 << 10;
/** Version 4 of the metadata, introduced in Arrow 0.8 (2017). */
const oldestVersion = 3;
const magic = 'ARROW1';

export type ReadBytes = (at: number, length: number) => Promise<Uint8Array>;

/** Location of a record batch. */
export interface BatchPlace {
	readonly metadataAt: number;
	readonly metadataBytes: number;
	readonly bodyAt: number;
	readonly bodyBytes: number;
	readonly rows: number;
	/** Number of dictionary batches before this batch. */
	readonly dictionaries: number;
}

export interface DictionaryPlace extends BatchPlace {
	readonly id: number;
	/** Whether the values in this batch are appended to the existing ones. */
	readonly delta: boolean;
}

export interface ArrowMessages {
	readonly fields: readonly ArrowField[];
	readonly batches: readonly BatchPlace[];
	readonly dictionaries: readonly DictionaryPlace[];
}

/** Layout of a batch's columns from its metadata: array lengths and buffer locations in the body. */
export interface BatchLayout {
	readonly nodes: readonly (readonly [length: number, nulls: number])[];
	readonly buffers: readonly (readonly [offset: number, length: number])[];
}

/**
 * Finds all messages in a file, in Arrow's stream format or in its file format, which is a stream preceded by a magic
 * number. Throws errors whose messages are sentence fragments.
 */
export async function findMessages(read: ReadBytes, size: number): Promise<ArrowMessages> {
	const [begin, end] = await bounds(read, size);
	let window: { readonly at: number; readonly bytes: Uint8Array } = { at: 0, bytes: new Uint8Array(0) };
	const bytesAt = async (at: number, length: number): Promise<Uint8Array> => {
		if (at < window.at || at + length > window.at + window.bytes.length) {
			window = { at, bytes: await read(at, Math.min(end - at, Math.max(length, windowBytes))) };
		}
		return window.bytes.subarray(at - window.at, at - window.at + length);
	};
	let fields: ArrowField[] | null = null;
	const batches: BatchPlace[] = [];
	const dictionaries: DictionaryPlace[] = [];
	for (let at = begin; at < end; ) {
		if (end - at < 8) throw torn();
		const prefix = viewOf(await bytesAt(at, 8));
		const continued = prefix.getInt32(0, true) === -1;
		const metadataBytes = prefix.getInt32(continued ? 4 : 0, true);
		if (metadataBytes === 0) break;
		const metadataAt = at + (continued ? 8 : 4);
		if (metadataBytes < 0 || metadataBytes > maxMetadata)
			throw new Error(`a message has ${metadataBytes} bytes of metadata`);
		if (metadataAt + metadataBytes > end) throw torn();
		const message = FlatTable.root(await bytesAt(metadataAt, metadataBytes));
		const bodyAt = metadataAt + metadataBytes;
		const bodyBytes = message.size(3);
		if (bodyAt + bodyBytes > end) throw torn();
		at = bodyAt + bodyBytes;
		const header = message.table(2);
		const kind = message.int(1, 1);
		if (kind === 1 && header !== null && fields === null) {
			if (message.int(0, 2) < oldestVersion) throw new Error('it was written by an Arrow version older than 0.8');
			fields = readSchema(header);
		} else if ((kind === 2 || kind === 3) && header !== null) {
			if (fields === null) throw new Error('it has rows before the schema');
			if (batches.length + dictionaries.length >= maxMessages)
				throw new Error(`it has more than ${maxMessages} record batches`);
			const batch = kind === 3 ? header : header.table(1);
			if (batch === null) throw new Error('a dictionary has no values');
			if (batch.table(3) !== null) throw new Error('its record batches are compressed');
			const place = {
				metadataAt,
				metadataBytes,
				bodyAt,
				bodyBytes,
				rows: batch.size(0),
				dictionaries: dictionaries.length,
			};
			if (kind === 3) batches.push(place);
			else dictionaries.push({ ...place, id: header.size(0), delta: header.bool(2) });
		}
	}
	if (fields === null) throw new Error('it has no schema');
	return { fields, batches, dictionaries };
}

/** Reads the column layout from the metadata of a batch. */
export async function readLayout(read: ReadBytes, place: BatchPlace, dictionary = false): Promise<BatchLayout> {
	const header = FlatTable.root(await read(place.metadataAt, place.metadataBytes)).table(2);
	const batch = dictionary ? header?.table(1) : header;
	if (!batch) throw new Error('the file has changed');
	return { nodes: batch.pairs(1), buffers: batch.pairs(2) };
}

/** Returns the range of the messages: after the magic number and before the footer of the file format. */
async function bounds(read: ReadBytes, size: number): Promise<readonly [begin: number, end: number]> {
	const text = async (at: number) => String.fromCharCode(...(await read(at, magic.length)));
	if (size < 8 || (await text(0)) !== magic) return [0, size];
	if (size < 24 || (await text(size - magic.length)) !== magic) throw torn();
	const footer = viewOf(await read(size - magic.length - 4, 4)).getInt32(0, true);
	const end = size - magic.length - 4 - footer;
	if (footer < 0 || end < 8) throw new Error(`it has a footer of ${footer} bytes`);
	return [8, end];
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const torn = () => new Error('it is truncated within a message');
