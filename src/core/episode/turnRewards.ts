interface Rewarded {
	readonly reward?: number | null | undefined;
}

/** Returns the sum of the known turn rewards; null if there are none. */
export function turnRewardSum(turns: readonly Rewarded[]): number | null {
	let sum: number | null = null;
	for (const { reward } of turns) {
		if (reward !== undefined && reward !== null) sum = (sum ?? 0) + reward;
	}
	return sum;
}
