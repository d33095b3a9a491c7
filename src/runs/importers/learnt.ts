/** Runs whose facts are kept. */
const mostKept = 32;

interface Kept {
	readonly stamp: string;
	readonly value: Promise<unknown>;
}

const kept = new Map<string, Kept>();

/**
 * What was learnt of a run, for all who open it: read again only when the files that tell it have changed.
 * @param key which run, as which format
 * @param stamp of those files
 */
export function learntOf(key: string, stamp: string, learn: () => Promise<unknown>): Promise<unknown> {
	const known = kept.get(key);
	if (known?.stamp === stamp) return known.value;
	const value = learn();
	kept.delete(key);
	kept.set(key, { stamp, value });
	if (kept.size > mostKept) kept.delete(kept.keys().next().value as string);
	return value;
}
