export interface DifficultyBand {
	/** Numbers of its problems. */
	readonly problems: readonly number[];
	/** Least, greatest and mean success rate of its problems. */
	readonly low: number;
	readonly high: number;
	readonly mean: number;
}

/**
 * Problems in bands of the same size by the policy's own single-sample success rate, the easiest first (Snell et al. 2024,
 * "Scaling LLM Test-Time Compute Optimally", section 3.2: five quantiles). Problems of the same rate are told apart by their
 * number alone, so that a band depends on nothing else. The rates are to come from samples that are not evaluated:
 * a band that is chosen for its failures would show fewer of them in any other samples.
 *
 * @param rates by problem's number; null: not known, in no band
 */
export function difficultyBands(rates: readonly (number | null)[], count: number): DifficultyBand[] {
	const known = rates.flatMap((rate, problem) => (rate === null ? [] : [{ rate, problem }]));
	const sorted = known.toSorted((a, b) => b.rate - a.rate || a.problem - b.problem);
	const bands = Math.min(count, sorted.length);
	return Array.from({ length: bands }, (_, i) => {
		const members = sorted.slice(
			Math.round((i * sorted.length) / bands),
			Math.round(((i + 1) * sorted.length) / bands),
		);
		return {
			problems: members.map(({ problem }) => problem).sort((a, b) => a - b),
			low: (members.at(-1) as { rate: number }).rate,
			high: (members[0] as { rate: number }).rate,
			mean: members.reduce((sum, { rate }) => sum + rate, 0) / members.length,
		};
	});
}
