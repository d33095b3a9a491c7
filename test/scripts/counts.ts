/** Numbers of tests, passed between the phases of test.ts by a file. */
import { readFileSync, writeFileSync } from 'node:fs';

export interface Counts {
	passed: number;
	failed: number;
	skipped: number;
	/** Names of the failed ones, with file and line, where they are known. */
	failures?: readonly string[];
	/** Files with a failed test. */
	failedFiles?: readonly string[];
}

/** Writes to the file that test.ts named, if it did. */
export function writeCounts(counts: Counts): void {
	if (process.env.TEST_COUNTS !== undefined) writeFileSync(process.env.TEST_COUNTS, JSON.stringify(counts));
}

export function readCounts(path: string): Counts | undefined {
	try {
		return JSON.parse(readFileSync(path, 'utf8'));
	} catch {
		return undefined;
	}
}

/** `N passed, N failed`, and the skipped ones where there are some. */
export function summary({ passed, failed, skipped }: Counts): string {
	return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
