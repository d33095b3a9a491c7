import { readSync } from 'node:fs';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { longestLine } from '../files/jsonLines.ts';
import { parseLooseJson } from '../files/looseJson.ts';
import { decode } from '../protocol/decode.ts';
import { type RolloutLine, rolloutLineSchema } from '../protocol/rolloutLine.ts';
import { giveBuffer, scratchBytes, takeBuffer } from './scratchBuffer.ts';

const newline = 0x0a;

export interface ByteLine {
	readonly bytes: Buffer;
	/** File offset. */
	readonly offset: number;
	/** Whether the line ends with a line break; only the last line of a file can lack one. */
	readonly whole: boolean;
	/** Whether the line exceeds the read limit, in which case `bytes` is its start and `length` its full length. */
	readonly tooLong: boolean;
	readonly length: number;
}

/**
 * Yields the lines of a file that begin in [from, to). For use in threads, because reads block. `bytes` are valid until
 * the next line is requested.
 * @param chunkBytes bytes to read at a time
 */
export function* linesOf(
	fd: number,
	from: number,
	to: number,
	size: number,
	chunkBytes = scratchBytes,
): Generator<ByteLine> {
	const scratch = takeBuffer(chunkBytes);
	try {
		yield* readLines(fd, { from, to, size }, scratch);
	} finally {
		giveBuffer(scratch);
	}
}

/** @param scratch buffer to read into; a longer line gets a larger one */
function* readLines(
	fd: number,
	{ from, to, size }: { readonly from: number; readonly to: number; readonly size: number },
	scratch: Buffer,
): Generator<ByteLine> {
	let buffer = scratch;
	/** The buffer contains the file from `base` to `filled`. */
	let base = from;
	let filled = 0;
	let start = 0;
	// A line that begins before `from` belongs to the reader of that range; the byte before `from` shows whether a line
	// begins there.
	let skipping = false;
	if (from > 0) {
		const before = Buffer.allocUnsafe(1);
		skipping = readSync(fd, before, 0, 1, from - 1) !== 1 || before[0] !== newline;
	}
	let searched = 0;
	let dropped = 0;
	for (;;) {
		const end = buffer.subarray(0, filled).indexOf(newline, searched);
		if (end !== -1) {
			const offset = base + start - dropped;
			const length = end - start + dropped;
			if (!skipping) {
				if (offset >= to) return;
				yield { bytes: buffer.subarray(start, end), offset, whole: true, tooLong: length > longestLine, length };
			}
			skipping = false;
			dropped = 0;
			start = end + 1;
			searched = start;
			if (base + start >= to) return;
			continue;
		}
		if (!skipping && base + start - dropped >= to) return;
		searched = filled;
		if (skipping || filled - start > longestLine) {
			// Only the end of the line matters.
			if (!skipping) dropped += filled - start;
			base += filled;
			filled = 0;
			start = 0;
			searched = 0;
		} else if (start > 0) {
			buffer.copyWithin(0, start, filled);
			base += start;
			filled -= start;
			searched -= start;
			start = 0;
		}
		if (filled === buffer.length) {
			const larger = Buffer.allocUnsafe(buffer.length * 2);
			buffer.copy(larger, 0, 0, filled);
			buffer = larger;
		}
		const want = Math.min(buffer.length - filled, size - base - filled);
		const read = want <= 0 ? 0 : readSync(fd, buffer, filled, want, base + filled);
		if (read === 0) {
			const length = filled - start + dropped;
			if (!skipping && length > 0) {
				const offset = base + start - dropped;
				yield { bytes: buffer.subarray(start, filled), offset, whole: false, tooLong: length > longestLine, length };
			}
			return;
		}
		filled += read;
	}
}

/**
 * Decodes a line as a rollout in the same way as OwnRun. Returns a description of the problem if it is invalid, and
 * null if it is blank.
 */
export function rolloutOfLine(bytes: Buffer): RolloutLine | string | null {
	const text = bytes.toString('utf8');
	let value: unknown;
	try {
		value = parseBoundedJson(text);
	} catch {
		if (text.trim() === '') return null;
		try {
			value = parseLooseJson(text);
		} catch {
			return 'invalid JSON';
		}
	}
	if (isPlainRollout(value)) return value;
	const decoded = decode(rolloutLineSchema, value);
	return decoded.ok ? decoded.value : `${decoded.faults[0]?.path || 'the line'} is not valid`;
}

/**
 * Returns whether a value is a rollout as our engines write it. This fast check is stricter than the schema: anything
 * it accepts, the schema accepts as well, and anything it rejects is left to the schema.
 */
export function isPlainRollout(value: unknown): value is RolloutLine {
	if (typeof value !== 'object' || value === null) return false;
	const line = value as Record<string, unknown>;
	return (
		isNumber(line.step) &&
		typeof line.stage === 'string' &&
		isNumber(line.group) &&
		isNumber(line.index) &&
		isText(line.prompt) &&
		isText(line.completion) &&
		isRewards(line.rewards) &&
		(line.reward === null || isNumber(line.reward)) &&
		(line.advantage === null || isNumber(line.advantage)) &&
		(line.truncated === null || typeof line.truncated === 'boolean') &&
		(line.tokens === undefined || isTokens(line.tokens)) &&
		line.parents === undefined &&
		(line.extra === undefined || isObject(line.extra))
	);
}

function isNumber(value: unknown): boolean {
	return typeof value === 'number';
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
	if (typeof value === 'string') return true;
	if (!Array.isArray(value)) return false;
	for (const message of value) {
		if (!isObject(message) || typeof message.role !== 'string') return false;
		if (message.content !== null && typeof message.content !== 'string') return false;
	}
	return true;
}

function isRewards(value: unknown): boolean {
	if (!isObject(value)) return false;
	for (const name in value) if (value[name] !== null && typeof value[name] !== 'number') return false;
	return true;
}

function isTokens(value: unknown): boolean {
	if (!isObject(value) || !Array.isArray(value.text)) return false;
	for (const text of value.text) if (typeof text !== 'string') return false;
	if (!isNumbers(value.logprob)) return false;
	for (const name of ['oldLogprob', 'refLogprob', 'entropy', 'advantage', 'version']) {
		if (value[name] !== undefined && !isNumbers(value[name])) return false;
	}
	return true;
}

function isNumbers(value: unknown): boolean {
	if (!Array.isArray(value)) return false;
	for (const x of value) if (x !== null && typeof x !== 'number') return false;
	return true;
}
