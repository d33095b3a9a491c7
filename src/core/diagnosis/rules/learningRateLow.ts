import type { Rule } from '../rule.ts';
import { StillWatch } from './stillWatch.ts';

export const learningRateLow: Rule = {
	name: 'learning-rate-low',
	title: 'Learning rate too low',
	fires:
		'after `stillBatches` batches, sqrt(`kl` x `completions/mean_length` / 2) over the last `shortRun` batches is below `stillBound`, mean `reward` exceeds that over the first `shortRun` by less than `degradeShare` x `reward_std`, and groups are not dead (`deadShare`). The suggested fix divides `learning_rate` by the value of that square root: at the resulting rate, every completion could have changed.',
	silent: 'if `kl` is not measured (beta 0), and once the task is solved.',
	metrics: ['kl', 'completions/mean_length', 'reward', 'reward_std', 'groups/dead', 'frac_reward_zero_std'],
	thresholds: ['stillBatches', 'stillBound', 'degradeShare', 'deadShare', 'solvedAccuracy', 'shortRun'],
	watch: (run) => new StillWatch(run, 'rate'),
};
