/** Maximum number of runs with cached facts. */
const maxKept = 32;

interface Kept {
	readonly stamp: string;
	readonly value: Promise<unknown>;
}

const kept = new Map<string, Kept>();

/**
 * Returns what was learned about a run, shared by all callers and recomputed only when the relevant files have changed.
 * @param key identifies the run and its format
 * @param stamp stamp of the relevant files
 * @param learn returns `whole: false` if something could not be read, such as on a busy machine; the next caller then
 * retries
 */
export function learnedOf(
	key: string,
	stamp: string,
	learn: () => Promise<{ readonly value: unknown; readonly whole: boolean }>,
): Promise<unknown> {
	const known = kept.get(key);
	if (known?.stamp === stamp) return known.value;
	const value = learn().then((learned) => {
		if (!learned.whole && kept.get(key)?.value === value) kept.delete(key);
		return learned.value;
	});
	kept.delete(key);
	kept.set(key, { stamp, value });
	if (kept.size > maxKept) kept.delete(kept.keys().next().value as string);
	return value;
}
