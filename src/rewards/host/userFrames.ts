import { fileURLToPath } from 'node:url';
import { Failure } from '../../base/failure.ts';

const maxMessage = 2000;
const maxFrames = 12;

/**
 * User-facing description of a thrown value: its message, the stack frames outside Node and this program, and the line
 * in the file.
 */
export interface Thrown {
	readonly message: string;
	readonly stack?: string;
	/** 1-based line of the innermost frame in the reward file. */
	readonly line?: number;
}

const framePattern = /^ {4}at (?:.*? \()?((?:file:\/\/)?[^()]+?):(\d+):\d+\)?$/;

function pathOf(place: string): string | null {
	if (place.startsWith('node:')) return null;
	if (!place.startsWith('file:')) return place;
	try {
		return fileURLToPath(place.split('?')[0] as string);
	} catch {
		return null;
	}
}

/** Returns the message of any thrown value. Never throws. */
export function messageOf(error: unknown): string {
	try {
		if (error instanceof Error) {
			const name = typeof error.name === 'string' && error.name !== '' ? error.name : 'Error';
			return cut(error.message === '' ? name : `${name}: ${error.message}`);
		}
		return cut(`threw ${typeof error === 'string' ? JSON.stringify(error) : String(error)}`);
	} catch {
		return 'threw a value that cannot be displayed';
	}
}

function cut(text: string): string {
	return text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text;
}

/**
 * Describes a thrown value for the reward's author.
 * @param file absolute path to the reward file; null for a built-in reward
 * @param own folder that contains this program, whose frames do not help the author
 */
export function describeThrown(error: unknown, file: string | null, own: string): Thrown {
	// Only this program throws a Failure. It already says what to do, so stack frames would add nothing.
	if (error instanceof Failure) return { message: cut(error.toString()) };
	const message = messageOf(error);
	let stack: unknown;
	try {
		stack = (error as { stack?: unknown } | null)?.stack;
	} catch {
		// A getter in the author's code threw, so there is no stack.
	}
	if (typeof stack !== 'string') return { message };
	const frames: string[] = [];
	let line: number | undefined;
	for (const text of stack.slice(0, 20_000).split('\n')) {
		const match = framePattern.exec(text);
		if (match === null) continue;
		const path = pathOf(match[1] as string);
		if (path === null) continue;
		if (path.startsWith(own)) {
			if (frames.length > 0) break; // This frame belongs to the reward's caller.
			continue;
		}
		if (line === undefined && path === file) line = Number(match[2]);
		if (frames.length < maxFrames) frames.push(`${path}:${match[2]}${nameOf(text)}`);
	}
	return {
		message,
		...(frames.length === 0 ? {} : { stack: frames.join('\n') }),
		...(line === undefined ? {} : { line }),
	};
}

function nameOf(frame: string): string {
	const name = /^ {4}at (.*?) \(/.exec(frame)?.[1];
	return name === undefined ? '' : ` in ${name}`;
}
