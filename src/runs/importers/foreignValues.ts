import { parseBoundedJson } from '../../base/boundedJson.ts';

/*
 * Values as other trainers write them, taken for what they are: nothing here throws, whatever is in a file.
 */

export type Fields = Readonly<Record<string, unknown>>;

/** An object that is no list; null: something else. */
export function fieldsOf(value: unknown): Fields | null {
	return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

export function listOf(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

/** A finite number; those of 64-bit columns too. null: something else. */
export function numberOf(value: unknown): number | null {
	if (typeof value === 'bigint') return Number(value);
	return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function integerOf(value: unknown): number | null {
	const number = numberOf(value);
	return number !== null && Number.isSafeInteger(number) ? number : null;
}

/** As a score: true is 1, false is 0. */
export function scoreOf(value: unknown): number | null {
	return typeof value === 'boolean' ? Number(value) : numberOf(value);
}

export function textOf(value: unknown): string | null {
	return typeof value === 'string' ? value : null;
}

/** Whether a completion was truncated, by the reason why it ended; null: none is recorded. */
export function truncatedBy(finishReason: unknown): boolean | null {
	const reason = textOf(finishReason);
	return reason === null || reason === '' ? null : reason === 'length';
}

/** Numbers, one by one; what is none is null. */
export function numbersOf(value: unknown): (number | null)[] {
	return listOf(value).map(numberOf);
}

/** The entries of an object that are scores or null; null and NaN stay, as null. */
export function scoresOf(value: unknown, takes: (key: string) => boolean = () => true): Record<string, number | null> {
	const scores: Record<string, number | null> = {};
	const fields = fieldsOf(value) ?? {};
	for (const key of Object.keys(fields)) {
		const entry = fields[key];
		const type = typeof entry;
		if (entry !== null && type !== 'number' && type !== 'boolean' && type !== 'bigint') continue;
		// What is assigned to this name would be no entry.
		if (takes(key) && key !== '__proto__') scores[key] = scoreOf(entry);
	}
	return scores;
}

/** Sum of those that are not null; null: none is. */
export function sumOf(values: Iterable<number | null>): number | null {
	let sum: number | null = null;
	for (const value of values) if (value !== null) sum = (sum ?? 0) + value;
	return sum;
}

const deepest = 12;
const maxEntries = 10_000;

/** A value as it stands, but no deeper than anybody looks: panels and processes hand it on. */
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

/** JSON that stands as text in a field; undefined: it is none. */
export function parsedJson(value: unknown): unknown {
	if (typeof value !== 'string') return undefined;
	try {
		return parseBoundedJson(value);
	} catch {
		return undefined;
	}
}

/** Whether there is anything to say in a value: `extra` says nothing of what is null or empty. */
function isSaid(value: unknown): boolean {
	if (value === undefined || value === null || value === '') return false;
	return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** The facts that are there, for `extra`; undefined: none. */
export function extraOf(facts: Fields): Record<string, unknown> | undefined {
	const said = Object.entries(facts).filter(([, value]) => isSaid(value));
	if (said.length === 0) return undefined;
	return Object.fromEntries(said.map(([key, value]) => [key, boundedValue(value)]));
}

/** `{ [name]: value }`, or nothing where there is no value: for optional fields. */
export function given<K extends string, V>(name: K, value: V | null | undefined): { [P in K]?: V } {
	return value === null || value === undefined ? {} : ({ [name]: value } as { [P in K]: V });
}
