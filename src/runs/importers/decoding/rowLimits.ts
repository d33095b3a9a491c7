/**
 * Size limit for the rows in one response, in bytes. Needed because the rows are copied to the requesting thread. A
 * single row can exceed the limit.
 */
export const answerBytes = 32 << 20;
export const largestRow = 64 << 20;

/** Returns the approximate size of a plain value in bytes: one per character of its strings, 8 for everything else. */
export function sizeOf(value: unknown): number {
	if (typeof value === 'string') return 8 + value.length;
	if (typeof value !== 'object' || value === null) return 8;
	let size = 8;
	for (const inner of Object.values(value)) size += sizeOf(inner);
	return size;
}
