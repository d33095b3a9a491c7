import { Failure } from '../base/failure.ts';
import { LineSplitter, parseLine } from './jsonLines.ts';
import { openRegular } from './safeFile.ts';

/**
 * Yields the value of each line in a JSONL file, in order. Yields nothing if the file is missing, and skips a torn last
 * line.
 */
export async function* fileLines(root: string, name: string): AsyncIterable<unknown> {
	const handle = await openRegular(root, name).catch((error: unknown) => {
		if (Failure.from(error).reason === 'missing') return null;
		throw error;
	});
	if (handle === null) return;
	try {
		const splitter = new LineSplitter();
		const buffer = Buffer.alloc(1 << 18);
		for (;;) {
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
			if (bytesRead === 0) return;
			for (const line of splitter.push(Uint8Array.prototype.slice.call(buffer, 0, bytesRead))) {
				if (line.length > 0) yield parseLine(line);
			}
		}
	} finally {
		await handle.close();
	}
}
