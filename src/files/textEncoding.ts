import { Failure } from '../base/failure.ts';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes UTF-8. Fails with `invalid` and the line number if the bytes are not UTF-8. @param what file description for
 * the error
 */
export function utf8Text(bytes: Uint8Array, what: string): string {
	try {
		return strict.decode(bytes);
	} catch (error) {
		if (!(error instanceof TypeError)) throw error;
		const line = lineOfFault(bytes);
		throw new Failure('invalid', `${what}, line ${line}, is not valid UTF-8.`, encodingAdvice(bytes));
	}
}

/** Returns advice for bytes that are not UTF-8, including the encoding they appear to use. */
export function encodingAdvice(bytes: Uint8Array): string {
	const [a, b] = bytes;
	const encoding =
		(a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)
			? 'UTF-16'
			: bytes.some((byte) => byte >= 0x80 && byte < 0xa0)
				? 'WINDOWS-1252'
				: 'ISO-8859-1';
	return `The encoding looks like ${encoding}. Convert the file to UTF-8, for example with iconv -f ${encoding} -t UTF-8 FILE > NEW.`;
}

/** Returns the one-based line of the first invalid bytes. UTF-8 sequences never span a line break. */
function lineOfFault(bytes: Uint8Array): number {
	let line = 1;
	for (let at = 0; at < bytes.length; line++) {
		const end = bytes.indexOf(0x0a, at);
		const stop = end < 0 ? bytes.length : end;
		if (!isUtf8(bytes.subarray(at, stop))) return line;
		at = stop + 1;
	}
	return line;
}

export function isUtf8(bytes: Uint8Array): boolean {
	try {
		strict.decode(bytes);
		return true;
	} catch {
		return false;
	}
}
