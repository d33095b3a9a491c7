export interface DifficultyBand {
	/** Problem numbers. */
	readonly problems: readonly number[];
	/** Min, max and mean success rate over the problems in the band. */
	readonly low: number;
	readonly high: number;
	readonly mean: number;
}

/**
 * Splits problems into equal-size bands by the policy's single-sample success rate, easiest first (Snell et al. 2024,
 * "Scaling LLM Test-Time Compute Optimally", section 3.2: five quantiles). Ties are broken by problem number, so bands
 * are deterministic. The rates must come from samples that are not used for evaluation: a band selected for its
 * failures would show fewer failures in any other samples.
 * @param rates by problem number; problems with an unknown rate (null) are not assigned to a band
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
