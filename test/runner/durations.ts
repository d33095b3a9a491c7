/**
 * Expected durations of checks and test files in seconds, from the last `npm test -- --times` that was committed. They
 * decide what starts first and how long is said to be left, nothing else.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Durations = ReadonlyMap<string, number>;

const path = join(import.meta.dirname, 'durations.json');
/** What takes less does not decide anything. */
export const minSeconds = 3;

export function readDurations(): Durations {
	try {
		return new Map(Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>));
	} catch {
		return new Map();
	}
}

/** Keeps what takes long, in a stable order. */
export function writeDurations(seconds: ReadonlyMap<string, number>): void {
	const slow = [...seconds].filter(([, duration]) => duration >= minSeconds).sort(([a], [b]) => (a < b ? -1 : 1));
	const rounded = Object.fromEntries(slow.map(([name, duration]) => [name, Math.round(duration)]));
	writeFileSync(path, `${JSON.stringify(rounded, undefined, '\t')}\n`);
}
