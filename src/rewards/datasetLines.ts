import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { Random } from '../base/random.ts';
import { readAt } from '../files/readAt.ts';

/** A line in a dataset file. */
export interface DatasetLine {
	readonly text: string;
	/** 1-based line number, or null if the file is too large to count lines. */
	readonly line: number | null;
	/** Byte offset at which the line starts. */
	readonly offset: number;
}

export interface DatasetLines {
	/** File size in bytes. */
	readonly size: number;
	/**
	 * Returns the next line in a seeded order, or null when there are no more lines. Skips lines longer than
	 * `longestLine`.
	 */
	read(): Promise<DatasetLine | null>;
	close(): Promise<void>;
}

/**
 * Size limits in bytes. In a file up to `indexed`, any line can be drawn; in a larger file, only lines near seeded
 * positions.
 */
export interface DatasetLineLimits {
	readonly indexed: number;
	readonly chunk: number;
	readonly longestLine: number;
	/** Number of chunks to read from a larger file. */
	readonly places: number;
}

export const datasetLineLimits: DatasetLineLimits = {
	indexed: 32 << 20,
	chunk: 256 << 10,
	longestLine: 4 << 20,
	places: 24,
};

const newline = 0x0a;

async function openFile(path: string): Promise<FileHandle> {
	// Do not block on a pipe that has no writer.
	const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
			throw new Failure('missing', `Dataset ${path} does not exist.`, 'Fix the path where it is set.');
		}
		throw Failure.from(error, `Cannot read the dataset ${path}`);
	});
	if ((await handle.stat()).isFile()) return handle;
	await handle.close();
	throw new Failure('invalid', `Dataset ${path} is not a regular file.`, 'Use a JSONL file.');
}

/**
 * Returns the start offset of each line, followed by the file size. Reads in chunks to avoid blocking other work.
 */
async function lineStarts(handle: FileHandle, size: number, chunk: number, signal?: AbortSignal): Promise<number[]> {
	const starts = [0];
	for (let offset = 0; offset < size; ) {
		checkAborted(signal);
		const bytes = await readAt(handle, offset, Math.min(chunk, size - offset));
		if (bytes.length === 0) break;
		for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) starts.push(offset + at + 1);
		offset += bytes.length;
	}
	if (starts.at(-1) !== size) starts.push(size);
	return starts;
}

/** Draws lines from a JSONL file in a seeded order, reading no more of the file than necessary. */
export async function drawLines(
	path: string,
	seed: number,
	{ signal, limits = datasetLineLimits }: { signal?: AbortSignal; limits?: DatasetLineLimits } = {},
): Promise<DatasetLines> {
	const handle = await openFile(path);
	try {
		const { size } = await handle.stat();
		const read =
			size <= limits.indexed
				? await indexedLines(handle, size, seed, limits, signal)
				: scatteredLines(handle, size, seed, limits);
		return { size, read, close: () => handle.close() };
	} catch (error) {
		await handle.close();
		throw error;
	}
}

async function indexedLines(
	handle: FileHandle,
	size: number,
	seed: number,
	limits: DatasetLineLimits,
	signal?: AbortSignal,
): Promise<DatasetLines['read']> {
	const starts = await lineStarts(handle, size, limits.chunk, signal);
	const random = Random.of(seed, 'rows');
	const count = starts.length - 1;
	// Lazy Fisher-Yates: drawing a few lines out of a million takes only a few steps.
	const moved = new Map<number, number>();
	let drawn = 0;
	return async () => {
		while (drawn < count) {
			const j = random.between(drawn, count - 1);
			const index = moved.get(j) ?? j;
			moved.set(j, moved.get(drawn) ?? drawn);
			drawn++;
			const [offset, end] = [starts[index] as number, starts[index + 1] as number];
			if (end - offset > limits.longestLine) continue;
			const text = (await readAt(handle, offset, end - offset)).toString('utf8').replace(/\r?\n$/, '');
			return { text, line: index + 1, offset };
		}
		return null;
	};
}

function scatteredLines(
	handle: FileHandle,
	size: number,
	seed: number,
	limits: DatasetLineLimits,
): DatasetLines['read'] {
	const random = Random.of(seed, 'places');
	const span = size - limits.chunk;
	// Include the start of the file, which shows its format even if the rest has no short lines.
	const places = [0, ...Array.from({ length: limits.places - 1 }, () => Math.floor(random.next() * span))];
	const queues: DatasetLine[][] = [];
	let next = 0;
	const fill = async (offset: number) => {
		const bytes = await readAt(handle, offset, limits.chunk);
		const lines: DatasetLine[] = [];
		// Except at the start of the file, the bytes before the first line break belong to a partial line.
		let start = offset === 0 ? 0 : bytes.indexOf(newline) + 1;
		for (let end = bytes.indexOf(newline, start); end >= 0; end = bytes.indexOf(newline, start)) {
			const number = offset === 0 ? lines.length + 1 : null;
			const text = bytes.toString('utf8', start, end).replace(/\r$/, '');
			lines.push({ text, line: number, offset: offset + start });
			start = end + 1;
		}
		return random.shuffle(lines);
	};
	const taken = new Set<number>();
	return async () => {
		// Take one line from each position in turn.
		for (let tries = 0; tries < 2 * limits.places; tries++) {
			const i = next++ % limits.places;
			queues[i] ??= await fill(places[i] as number);
			const line = queues[i].pop();
			if (line === undefined || taken.has(line.offset)) continue;
			taken.add(line.offset);
			return line;
		}
		return null;
	};
}
