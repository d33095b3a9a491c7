import { readSync } from 'node:fs';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { openRegular } from '../files/safeFile.ts';
import { Sequence, sharedSearch } from './byteSearch.ts';
import type { LiteralBytes } from './indexTasks.ts';
import { LiteralFinder } from './literalFinder.ts';
import { giveBuffer, scratchBytes, takeBuffer } from './scratchBuffer.ts';

/** An escape of an ASCII character, which writers use only for control characters, quotes and angle brackets. */
const asciiEscape = new Sequence(Buffer.from('\\u00'), false);
const escapeLength = 6;

/**
 * Returns whether JSON strings in some files can contain one of the literals. If the files do not contain the bytes of
 * a literal, their strings cannot contain it, unless ASCII characters are escaped. Fails with `missing`, or with
 * `invalid` if a file is not a regular one.
 */
export async function canContain(
	folder: string,
	files: readonly string[],
	literals: readonly LiteralBytes[],
	signal: AbortSignalLike,
): Promise<boolean> {
	const finder = new LiteralFinder(literals);
	// Windows overlap, so a literal or an escape that is split at the end of one window is whole in the next.
	const overlap = Math.max(escapeLength, ...literals.map(({ bytes }) => bytes.length)) - 1;
	const window = takeBuffer(scratchBytes);
	try {
		for (const file of files) {
			const handle = await openRegular(folder, file);
			try {
				for (let position = 0; ; position += window.length - overlap) {
					checkAborted(signal);
					const filled = readSync(handle.fd, window, 0, window.length, position);
					const bytes = window.subarray(0, filled);
					finder.begin(bytes);
					if (finder.next(0) !== -1 || hasEscapedAscii(bytes)) return true;
					if (filled < window.length) break;
				}
			} finally {
				await handle.close();
			}
		}
		return false;
	} finally {
		giveBuffer(window);
	}
}

/** Returns whether a printable ASCII character is escaped. */
function hasEscapedAscii(bytes: Buffer): boolean {
	const search = sharedSearch();
	for (let at = search.indexOf(bytes, asciiEscape, 0); at !== -1; at = search.indexOf(bytes, asciiEscape, at + 1)) {
		const digit = bytes[at + asciiEscape.bytes.length];
		if (digit !== undefined && digit >= 0x32 && digit <= 0x37) return true;
	}
	return false;
}
