import { Random } from '../../../../base/random.ts';
import { chooseProblems } from '../../../../core/curriculum/chooseProblems.ts';
import { withResults } from '../../../../core/curriculum/passRates.ts';
import { passReward } from '../../../../core/curriculum/passReward.ts';
import { poolMetrics } from '../../../../core/curriculum/poolMetrics.ts';
import type { Metrics } from '../../../../core/grpo/stepMetrics.ts';
import type { CurriculumProgress } from '../../../shared/progress.ts';
import type { RowScore } from '../../../shared/scoreBatch.ts';
import { type GroupPasses, groupPasses } from '../groupPasses.ts';
import type { PosedProblem } from '../problemFeed.ts';
import type { CurriculumKeys, SamplingStage } from '../rollout.ts';
import type { SamplingHost } from '../stageHost.ts';

/** The problems of one generation batch, chosen by their pass rates. */
interface ChosenProblems {
	/** Returns the problems of the next round of sampling. */
	next(round: number): PosedProblem[];
	/**
	 * Records the results of the round.
	 * @param rows scores of its completions, with the rows in each group contiguous
	 * @param dead whether each group is dead
	 */
	record(rows: readonly RowScore[], dead: readonly boolean[]): void;
	metrics(): Metrics;
}

/** Returns the choice of problems for the next batch, or null if the stage reads them in order. */
export function chosenProblems(host: SamplingHost, stage: SamplingStage): ChosenProblems | null {
	const { parts, progress } = host;
	const { pool } = parts.feed;
	const settings = stage.curriculum;
	const start = progress.curriculum;
	if (pool === null || settings === undefined || start === null) return null;
	const sampled = { groups: 0, dead: 0, size: stage.num_generations };
	const taken = new Set<number>();
	let rates = start;
	let chosen: readonly number[] = [];
	return {
		next(round) {
			const random = Random.of(parts.recipe.seed, 'curriculum', progress.generations, round);
			chosen = chooseProblems(rates, stage.prompts_per_step, settings, random, taken);
			for (const problem of chosen) taken.add(problem);
			return chosen.map((problem) => parts.feed.pose(pool.problems[problem] as PosedProblem['problem']));
		},
		record(rows, dead) {
			sampled.groups += dead.length;
			sampled.dead += dead.filter((isDead) => isDead).length;
			const reward = passReward(parts.rewards.scorers.map(({ column }) => column));
			rates = after(rates, settings, chosen, rows, reward);
			progress.curriculum = rates;
		},
		metrics: () => poolMetrics(start, settings, sampled),
	};
}

/** Returns the pass rates after a round. Completions without the reward do not count. */
function after(
	rates: CurriculumProgress,
	{ decay }: CurriculumKeys,
	chosen: readonly number[],
	rows: readonly RowScore[],
	reward: string | null,
): CurriculumProgress {
	if (reward === null) return rates;
	const passes = groupPasses(rows, chosen.length, reward);
	const results = chosen.flatMap((problem, g) => {
		const { successes, count } = passes[g] as GroupPasses;
		return count === 0 ? [] : [{ problem, successes, failures: count - successes }];
	});
	return { first: rates.first, ...withResults(rates, results, decay) };
}
