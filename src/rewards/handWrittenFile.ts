import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';

/** Maximum size of a hand-written file. */
const largest = 16 << 20;

/**
 * Reads a hand-written text file. Fails with `missing`, `denied`, or `invalid` if it is not a regular file or
 * too large.
 * @param noun what the file contains: "case file"
 * @param action what to do if the file is too large
 */
export async function readHandWritten(file: string, noun: string, action: string): Promise<string> {
	const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the ${noun} ${file}`);
	});
	try {
		const info = await handle.stat();
		if (!info.isFile()) throw new Failure('invalid', `The ${noun} ${file} is not a regular file.`, 'Use a JSONL file.');
		if (info.size > largest) {
			const message = `The ${noun} ${file} is ${info.size} bytes, which exceeds the limit of ${largest}.`;
			throw new Failure('invalid', message, action);
		}
		return await handle.readFile('utf8');
	} finally {
		await handle.close();
	}
}
