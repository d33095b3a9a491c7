/** Versions of the weights that generated a completion: the number of updates, or the trainer's own count. */
export interface CompletionWeights {
	/** The oldest and newest versions that generated any of its tokens. */
	readonly oldest: number;
	readonly newest: number;
	/** The version that was trained on the completion, before its first update; null if unknown. */
	readonly trained: number | null;
}

interface Recorded {
	readonly step: number | null;
	readonly tokens?: { readonly version?: readonly (number | null)[] | undefined } | undefined;
	readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

const isVersion = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value);

function recordedWeights(value: unknown): CompletionWeights | null {
	if (typeof value !== 'object' || value === null) return null;
	const { oldest, newest, trained = null } = value as Record<string, unknown>;
	if (!isVersion(oldest) || !isVersion(newest) || newest < oldest) return null;
	return { oldest, newest, trained: isVersion(trained) && trained >= oldest ? trained : null };
}

/**
 * Returns the weights that generated a completion, or null if they are not recorded. Readers of other trainers' formats
 * store them as `extra.weights`. Our own engine records a version for each token, and its steps count updates.
 */
export function weightsOf({ step, tokens, extra }: Recorded): CompletionWeights | null {
	if (extra?.weights !== undefined) return recordedWeights(extra.weights);
	let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
	for (const version of tokens?.version ?? []) {
		if (!isVersion(version)) continue;
		oldest = Math.min(oldest, version);
		newest = Math.max(newest, version);
	}
	return newest < oldest ? null : recordedWeights({ oldest, newest, trained: step === null ? null : step - 1 });
}

/** Returns the number of updates between the oldest weights and those trained on the completion; null if unknown. */
export function stalenessOf({ oldest, trained }: CompletionWeights): number | null {
	return trained === null ? null : trained - oldest;
}

/**
 * Returns, for each token, how far its weights lag behind those trained on the completion or, if those are unknown,
 * behind the newest ones that generated it.
 */
export function tokenAges(
	versions: readonly (number | null)[],
	{ trained, newest }: CompletionWeights,
): (number | null)[] {
	return versions.map((version) => (version === null ? null : (trained ?? newest) - version));
}
