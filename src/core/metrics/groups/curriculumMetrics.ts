import type { MetricEntry } from '../metricEntry.ts';

const problems = 'fraction of the problems in the curriculum, before the generation batch';

/** Metrics for stages with "curriculum". */
export const curriculumMetrics: Readonly<Record<string, MetricEntry>> = {
	'curriculum/pass_rate': {
		title: 'Estimated pass rate',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over: 'mean over the problems sampled before the generation batch',
		explanation:
			'Expected pass rate of a problem given its results so far. Problems that have not been sampled in a long time keep their old estimates.',
		rises: 'More problems are being solved.',
	},
	'curriculum/dead_avoided': {
		title: 'Dead groups avoided',
		unit: 'number',
		group: 'reward',
		better: 'up',
		over: 'groups sampled for the generation batch',
		explanation:
			'Expected fraction of dead groups if previously sampled problems had been chosen uniformly, minus the actual fraction. This is an estimate, so it differs slightly from 0 even with uniform sampling.',
		healthy: 'above 0',
		falls: 'Problems of medium difficulty are running out.',
	},
	'curriculum/new': {
		title: 'Problems not sampled yet',
		unit: 'share',
		group: 'reward',
		better: null,
		over: problems,
		explanation:
			'Problems without any results. Their pass rate is assumed to be uniformly distributed between 0 and 1.',
	},
	'curriculum/hard': {
		title: 'Hard problems',
		unit: 'share',
		group: 'reward',
		better: 'down',
		over: problems,
		explanation: 'Problems whose estimated pass rate is below min_pass_rate.',
		rises: 'Problems sampled for the first time are too hard, or the policy is forgetting.',
	},
	'curriculum/medium': {
		title: 'Problems of medium difficulty',
		unit: 'share',
		group: 'reward',
		better: null,
		over: problems,
		explanation:
			'Problems whose estimated pass rate is between min_pass_rate and max_pass_rate. These are the most informative.',
		healthy: 'above 0',
		falls: 'Problems are being solved. If all others are hard, the policy has reached its limit on this data.',
	},
	'curriculum/easy': {
		title: 'Easy problems',
		unit: 'share',
		group: 'reward',
		better: null,
		over: problems,
		explanation: 'Problems whose estimated pass rate is above max_pass_rate.',
		rises: 'More problems are being solved.',
	},
};
