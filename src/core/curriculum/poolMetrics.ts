import type { Metrics } from '../grpo/stepMetrics.ts';
import type { CurriculumSettings } from './chooseProblems.ts';
import { deadChance, expectedRate, isMeasured, type PassRates } from './passRates.ts';

/** Groups sampled for a generation batch. */
export interface SampledGroups {
	/** Total number of groups, and number of dead groups. */
	readonly groups: number;
	readonly dead: number;
	/** Number of completions per group. */
	readonly size: number;
}

/**
 * Returns the metrics of a batch's problem selection: the fraction of all problems in each difficulty pool, the mean
 * pass rate of the measured problems, and the reduction in dead groups compared with sampling the measured problems
 * uniformly.
 * @param rates estimates before the batch
 */
export function poolMetrics(rates: PassRates, settings: CurriculumSettings, sampled: SampledGroups): Metrics {
	const count = { new: 0, hard: 0, medium: 0, easy: 0 };
	let sum = 0;
	let dead = 0;
	const total = rates.successes.length;
	for (let problem = 0; problem < total; problem++) {
		if (!isMeasured(rates, problem)) {
			count.new++;
			continue;
		}
		const rate = expectedRate(rates, problem);
		count[rate < settings.min_pass_rate ? 'hard' : rate > settings.max_pass_rate ? 'easy' : 'medium']++;
		sum += rate;
		dead += deadChance(rates, problem, sampled.size);
	}
	const measured = total - count.new;
	return {
		'curriculum/new': count.new / total,
		'curriculum/hard': count.hard / total,
		'curriculum/medium': count.medium / total,
		'curriculum/easy': count.easy / total,
		'curriculum/pass_rate': measured === 0 ? null : sum / measured,
		'curriculum/dead_avoided': measured === 0 ? null : dead / measured - sampled.dead / sampled.groups,
	};
}
