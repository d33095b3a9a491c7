/** Of the rows of one answer, in bytes: they are copied to the thread that asks. One row may have more. */
export const answerBytes = 32 << 20;
export const largestRow = 64 << 20;

/** Bytes of a plain value, about: characters of its texts, 8 for all else. */
export function sizeOf(value: unknown): number {
	if (typeof value === 'string') return 8 + value.length;
	if (typeof value !== 'object' || value === null) return 8;
	let size = 8;
	for (const inner of Object.values(value)) size += sizeOf(inner);
	return size;
}
