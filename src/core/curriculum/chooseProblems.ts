import type { Random } from '../../base/random.ts';
import type { CurriculumRule } from '../../protocol/recipeKeys/curriculumKeys.ts';
import { drawRate, type PassRates } from './passRates.ts';

export interface CurriculumSettings {
	readonly sampling: CurriculumRule;
	/** Default: 0.5. */
	readonly target?: number | undefined;
	readonly min_pass_rate: number;
	readonly max_pass_rate: number;
}

/** Returns the distance of a pass rate from the rates targeted by a rule. */
function distance(rate: number, settings: CurriculumSettings): number {
	switch (settings.sampling) {
		case 'target':
			return Math.abs(rate - (settings.target ?? 0.5));
		case 'range':
			return Math.max(0, settings.min_pass_rate - rate, rate - settings.max_pass_rate);
		case 'uniform':
			return 0;
	}
}

/**
 * Returns the indices of the problems to sample, each at most once. Draws a pass rate for every problem from its
 * current distribution, and selects the problems whose rates are nearest to the target (MoPPS, 2507.04632, algorithm 1)
 * or within the range (the authors' "threshold"). Ties are broken at random. Because rates are drawn at random, a
 * problem with few results is still sampled occasionally even if it was never solved.
 * @param count number of problems to return, at most the number of problems
 * @param taken problems to avoid unless too few are left
 */
export function chooseProblems(
	rates: PassRates,
	count: number,
	settings: CurriculumSettings,
	random: Random,
	taken: ReadonlySet<number> = new Set(),
): number[] {
	const ranked = rates.successes.map((_, problem) => ({
		problem,
		taken: taken.has(problem),
		distance: distance(drawRate(rates, problem, random), settings),
		tie: random.uint32(),
	}));
	ranked.sort((a, b) => Number(a.taken) - Number(b.taken) || a.distance - b.distance || a.tie - b.tie);
	return ranked.slice(0, count).map(({ problem }) => problem);
}
