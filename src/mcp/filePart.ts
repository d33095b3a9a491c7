import { Failure } from '../base/failure.ts';
import { OpenedFile } from '../files/openedFile.ts';

export interface FilePart {
	readonly text: string;
	/** Size of the whole file. */
	readonly bytes: number;
	/** Byte offset of the next part; null at the end. */
	readonly next: number | null;
}

/** Maximum size of a part. Most lines are shorter. */
const partBytes = 64 << 10;

/**
 * Reads part of a text file in an untrusted folder. A part ends at a line break, or within a line if the line is longer
 * than a part. Fails with `missing`, with `invalid` if it is not a regular file or the offset is past the end, and with
 * `unsupported` if the file is not text.
 * @param offset in bytes
 */
export async function readPart(folder: string, path: string, offset: number): Promise<FilePart> {
	const file = await OpenedFile.open(folder, path);
	try {
		const { size } = file;
		if (offset > size) {
			throw new Failure(
				'invalid',
				`${path} has only ${size} bytes, so offset ${offset} is past its end.`,
				'Start at 0.',
			);
		}
		const chunk = await file.read(offset, Math.min(partBytes, size - offset));
		if (chunk.includes(0)) throw new Failure('unsupported', `${path} is not a text file.`, 'Read another file.');
		const end = offset + chunk.length >= size ? chunk.length : endOfPart(chunk);
		const text = new TextDecoder().decode(chunk.subarray(0, end));
		return { text, bytes: size, next: offset + end < size ? offset + end : null };
	} finally {
		await file.close();
	}
}

/** Returns the end of the last line, or, if there is none, of the last character. */
function endOfPart(chunk: Uint8Array): number {
	const line = chunk.lastIndexOf(0x0a) + 1;
	if (line > 0) return line;
	let end = chunk.length;
	// Bytes 10xxxxxx continue a character; the byte before them starts it.
	while (end > 0 && ((chunk[end - 1] as number) & 0xc0) === 0x80) end--;
	const lead = chunk[end - 1] as number;
	const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	return end - 1 + length === chunk.length ? chunk.length : Math.max(1, end - 1);
}
