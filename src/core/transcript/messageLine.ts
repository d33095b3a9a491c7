import { parseBoundedJson } from '../../base/boundedJson.ts';
import { isMessage, readMessage } from './readMessage.ts';

/** Limits for chat logs with one message per line, which are read in parts. */
export const messageLineLimits = {
	/** Maximum line size in bytes. */
	bytes: 16 << 20,
	lines: 5_000_000,
} as const;

/** Messages in a line. */
export interface MessageLine {
	readonly messages: ReturnType<typeof readMessage>;
	/** Why the line contains no messages; null if it contains any. */
	readonly fault: string | null;
}

/**
 * Reads a line of a chat log with one message per line. A line may contain several messages, because some formats
 * record the results of several calls together.
 * @param line 1-based line number in the file
 * @param ended whether the line ends with a newline; if not, it may be incomplete
 * @param converted converts the value, if the line is not in a format that `readMessage` reads
 */
export function readMessageLine(
	text: string,
	line: number,
	ended = true,
	converted: (value: unknown) => unknown = (value) => value,
): MessageLine {
	let value: unknown;
	try {
		value = parseBoundedJson(text.trim());
	} catch {
		return { messages: [], fault: ended ? 'The line is not valid JSON' : 'The last line is incomplete' };
	}
	const messages = readMessage(converted(value), { line, column: 1 });
	return { messages, fault: messages.length === 0 ? 'Not a message' : null };
}

/** Fault reported for a line that exceeds the limit. */
export const lineTooLong = `The line is longer than ${messageLineLimits.bytes / 2 ** 20} MB`;

const [space, tab, carriageReturn] = [0x20, 0x09, 0x0d];
/** Maximum length of a blank line, in bytes. Longer lines of whitespace are reported as unreadable. */
export const longestBlank = 64;

/** Returns whether a line is blank and therefore not counted. */
export function isBlankLine(bytes: Uint8Array): boolean {
	return (
		bytes.length <= longestBlank && bytes.every((byte) => byte === space || byte === tab || byte === carriageReturn)
	);
}

/** Returns whether a line is a message on its own. */
export function isMessageLine(text: string): boolean {
	try {
		return isMessage(parseBoundedJson(text));
	} catch {
		return false;
	}
}
