import type { Rule } from '../rule.ts';
import { StillWatch } from './stillWatch.ts';

export const betaHigh: Rule = {
	name: 'beta-high',
	title: 'Beta too high',
	fires:
		'`beta` in the recipe is at least `betaHigh`, and after `stillBatches` batches, mean `reward` over the last `shortRun` exceeds that over the first `shortRun` by less than `degradeShare` x `reward_std`, while groups are not dead (`deadShare`). The suggested value is `usualBeta`.',
	silent: 'while reward is rising, once the task is solved, or if beta is unknown.',
	metrics: ['kl', 'reward', 'reward_std', 'groups/dead', 'frac_reward_zero_std'],
	thresholds: ['betaHigh', 'usualBeta', 'stillBatches', 'degradeShare', 'deadShare', 'solvedAccuracy', 'shortRun'],
	watch: (run) => new StillWatch(run, 'beta'),
};
