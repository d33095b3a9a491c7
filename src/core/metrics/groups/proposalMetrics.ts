import type { MetricEntry } from '../metricEntry.ts';

const proposals = 'all proposals in the generation batch';

/** Metrics for stages with "proposals". */
export const proposalMetrics: Readonly<Record<string, MetricEntry>> = {
	'proposals/valid': {
		title: 'Valid proposals',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: proposals,
		explanation:
			'Proposals that are valid problems for the task. Held-out problems count, even though they are not used for training.',
		healthy: 'near 1',
		falls: 'The policy is forgetting how to pose problems.',
	},
	'proposals/distinct': {
		title: 'Distinct proposals',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: 'valid proposals that are not held out',
		explanation:
			'Number of distinct problems divided by the number of proposals. Identical proposals share one group of answers, so the batch gets smaller.',
		falls: 'The policy keeps posing the same problems, so it learns to answer only those.',
	},
	'proposals/solved': {
		title: 'Proposals solved',
		unit: 'share',
		group: 'reward',
		better: null,
		over: 'distinct proposals',
		explanation: 'Mean fraction of correct answers per proposed problem.',
		rises: 'The policy is learning faster than it finds harder problems, or is posing easier ones.',
		falls: 'The policy is posing harder problems.',
	},
	'proposals/learnable': {
		title: 'Learnable proposals',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: 'distinct proposals',
		explanation:
			'Proposals for which some, but not all, answers are correct. If accuracy is the only reward, only the answers to these proposals have nonzero advantages.',
		falls: 'Proposals are too easy or too hard to learn from; see the fraction solved.',
	},
};
