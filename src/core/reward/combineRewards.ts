/**
 * Returns the total reward for a row: the weighted sum of the rewards that apply (TRL's `nansum`), or null if none
 * apply. `values` and `weights` are in the same order.
 */
export function combineRewards(values: readonly (number | null)[], weights: readonly number[]): number | null {
	if (values.length !== weights.length) throw new RangeError(`${values.length} rewards, ${weights.length} weights`);
	let sum = 0;
	let any = false;
	for (let i = 0; i < values.length; i++) {
		const value = values[i] as number | null;
		if (value === null) continue;
		sum += value * (weights[i] as number);
		any = true;
	}
	return any ? sum : null;
}
