/**
 * Expected durations of checks and test files in seconds, from the last committed `npm test -- --times`. They only
 * determine the start order and the estimate of the remaining time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Durations = ReadonlyMap<string, number>;

const path = join(import.meta.dirname, 'durations.json');
/** Shorter durations do not affect scheduling. */
export const minSeconds = 3;

export function readDurations(): Durations {
	try {
		return new Map(Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>));
	} catch {
		return new Map();
	}
}

/** Writes the durations of slow files in a stable order. */
export function writeDurations(seconds: ReadonlyMap<string, number>): void {
	const slow = [...seconds].filter(([, duration]) => duration >= minSeconds).sort(([a], [b]) => (a < b ? -1 : 1));
	const rounded = Object.fromEntries(slow.map(([name, duration]) => [name, Math.round(duration)]));
	writeFileSync(path, `${JSON.stringify(rounded, undefined, '\t')}\n`);
}
