/** Runs whose facts are kept. */
const maxKept = 32;

interface Kept {
	readonly stamp: string;
	readonly value: Promise<unknown>;
}

const kept = new Map<string, Kept>();

/**
 * What was learned of a run, for all who open it: read again only when the files that tell it have changed.
 * @param key which run, as which format
 * @param stamp of those files
 * @param learn `whole` is false where something could not be read, as on a machine that is busy: the next one tries again
 */
export function learntOf(
	key: string,
	stamp: string,
	learn: () => Promise<{ readonly value: unknown; readonly whole: boolean }>,
): Promise<unknown> {
	const known = kept.get(key);
	if (known?.stamp === stamp) return known.value;
	const value = learn().then((learnt) => {
		if (!learnt.whole && kept.get(key)?.value === value) kept.delete(key);
		return learnt.value;
	});
	kept.delete(key);
	kept.set(key, { stamp, value });
	if (kept.size > maxKept) kept.delete(kept.keys().next().value as string);
	return value;
}
