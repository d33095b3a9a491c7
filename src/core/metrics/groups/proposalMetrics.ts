import type { MetricEntry } from '../metricEntry.ts';

const proposals = 'all proposals of the generation batch';

/** Metrics of stages with "proposals". */
export const proposalMetrics: Readonly<Record<string, MetricEntry>> = {
	'proposals/valid': {
		title: 'Valid proposals',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: proposals,
		explanation: 'Proposals that are problems of the task. Held-out problems count, although they are not trained on.',
		healthy: 'near 1',
		falls: 'The policy forgets how to pose problems.',
	},
	'proposals/distinct': {
		title: 'Distinct proposals',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: 'valid proposals that are not held out',
		explanation:
			'Different problems divided by proposals. Equal proposals share one group of answers, so the batch gets smaller.',
		falls: 'The policy poses the same problems again and again, and the answers are only trained on these.',
	},
	'proposals/solved': {
		title: 'Proposals solved',
		unit: 'share',
		group: 'reward',
		better: null,
		over: 'distinct proposals',
		explanation: 'Mean share of correct answers to a proposed problem.',
		rises: 'The policy learns faster than it finds harder problems, or poses easier ones.',
		falls: 'The policy poses harder problems.',
	},
	'proposals/learnable': {
		title: 'Learnable proposals',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: 'distinct proposals',
		explanation:
			'Proposals that some of the answers solve, but not all of them. With accuracy alone, only their answers have nonzero advantages.',
		falls: 'Proposals are too easy or too hard to learn from; see the share that is solved.',
	},
};
