import { parseBoundedJson } from '../../base/boundedJson.ts';

/* Helpers for values written by other trainers. None of them throws, whatever the file contains. */

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the value if it is an object but not a list, otherwise null. */
export function fieldsOf(value: unknown): Fields | null {
	return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

export function listOf(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

/** Returns a finite number, including from 64-bit columns, or null for anything else. */
export function numberOf(value: unknown): number | null {
	if (typeof value === 'bigint') return Number(value);
	return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function integerOf(value: unknown): number | null {
	const number = numberOf(value);
	return number !== null && Number.isSafeInteger(number) ? number : null;
}

/** Reads a score: true is 1, false is 0. */
export function scoreOf(value: unknown): number | null {
	return typeof value === 'boolean' ? Number(value) : numberOf(value);
}

export function textOf(value: unknown): string | null {
	return typeof value === 'string' ? value : null;
}

/** Returns the time of a date in text, in seconds since the epoch. */
export function secondsOf(value: unknown): number | null {
	const time = Date.parse(textOf(value) ?? '');
	return Number.isNaN(time) ? null : time / 1000;
}

/** Returns whether a completion was truncated according to its finish reason, or null if none is recorded. */
export function truncatedBy(finishReason: unknown): boolean | null {
	const reason = textOf(finishReason);
	return reason === null || reason === '' ? null : reason === 'length';
}

/** Reads a list of numbers, with null for entries that are not numbers. */
export function numbersOf(value: unknown): (number | null)[] {
	return listOf(value).map(numberOf);
}

/** Returns the entries of an object that are scores or null; null and NaN entries are kept as null. */
export function scoresOf(value: unknown, takes: (key: string) => boolean = () => true): Record<string, number | null> {
	const scores: Record<string, number | null> = {};
	const fields = fieldsOf(value) ?? {};
	for (const key of Object.keys(fields)) {
		const entry = fields[key];
		const type = typeof entry;
		if (entry !== null && type !== 'number' && type !== 'boolean' && type !== 'bigint') continue;
		// Assigning to this name would not create an entry.
		if (takes(key) && key !== '__proto__') scores[key] = scoreOf(entry);
	}
	return scores;
}

/** Sums the values that are not null; returns null if there are none. */
export function sumOf(values: Iterable<number | null>): number | null {
	let sum: number | null = null;
	for (const value of values) if (value !== null) sum = (sum ?? 0) + value;
	return sum;
}

const decoder = new TextDecoder('utf-8');
const deepest = 12;
const maxEntries = 10_000;

/** Returns a value with its nesting depth limited, because it is passed on to panels and processes. */
export function boundedValue(value: unknown, depth = 0): unknown {
	if (typeof value === 'bigint') return Number(value);
	if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
	if (typeof value !== 'object' || value === null) return typeof value === 'function' ? null : value;
	if (depth >= deepest) return '…';
	if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
	if (Array.isArray(value)) return value.slice(0, maxEntries).map((entry) => boundedValue(entry, depth + 1));
	const entries = Object.entries(value).slice(0, maxEntries);
	return Object.fromEntries(entries.map(([key, entry]) => [key, boundedValue(entry, depth + 1)]));
}

/**
 * Parses a field that contains JSON text, which databases can store as bytes; returns undefined if the field is not
 * JSON.
 */
export function parsedJson(value: unknown): unknown {
	const text = ArrayBuffer.isView(value) ? decoder.decode(value as Uint8Array) : value;
	if (typeof text !== 'string') return undefined;
	try {
		return parseBoundedJson(text);
	} catch {
		return undefined;
	}
}

/** Returns whether a value is worth adding to `extra`, which omits null and empty values. */
function isSaid(value: unknown): boolean {
	if (value === undefined || value === null || value === '') return false;
	return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Returns the values that are present, for `extra`, or undefined if there are none. */
export function extraOf(facts: Fields): Record<string, unknown> | undefined {
	const said = Object.entries(facts).filter(([, value]) => isSaid(value));
	if (said.length === 0) return undefined;
	return Object.fromEntries(said.map(([key, value]) => [key, boundedValue(value)]));
}

/** Reads a weight version, which some trainers write as text; null if it is not a number. */
export function versionOf(value: unknown): number | null {
	return typeof value === 'string' ? (/^\d{1,15}$/.test(value) ? Number(value) : null) : integerOf(value);
}

/**
 * Returns `extra.weights` (weightVersions.ts): the versions of the weights at the start and at the end of a completion,
 * and the version that was trained on it; null if the first two are not recorded.
 */
export function weightsSpan(start: unknown, end: unknown, trained: number | null = null): Fields | null {
	const [oldest, newest] = [versionOf(start), versionOf(end)];
	if (oldest === null || newest === null || newest < oldest) return null;
	return { oldest, newest, ...given('trained', trained) };
}

/** Returns `{ [name]: value }`, or an empty object if there is no value. For optional fields. */
export function given<K extends string, V>(name: K, value: V | null | undefined): { [P in K]?: V } {
	return value === null || value === undefined ? {} : ({ [name]: value } as { [P in K]: V });
}
