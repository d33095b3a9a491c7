import type { MetricEntry } from '../metricEntry.ts';

const texts = 'labeled beginnings of completions of the update, before it';
const heldOut = 'labeled beginnings of completions of held-out problems';

/** Of the stages that train a head beside the policy. */
export const headMetrics: Readonly<Record<string, MetricEntry>> = {
	'head/outcome': {
		title: 'Outcomes',
		unit: 'share',
		group: 'heads',
		better: null,
		over: 'completions of the generation batch, those that go on from a step left out',
		explanation: 'How many completions of the policy are right. The policy stays as it is while a head learns.',
		healthy: 'neither near 0 nor near 1: else there is nothing to tell apart',
	},
	'head/label': {
		title: 'Labels',
		unit: 'share',
		group: 'heads',
		better: null,
		over: texts,
		explanation: 'Mean of the labels that the head learns from: outcomes, or shares of completions that are right.',
	},
	'head/value': {
		title: 'Values',
		unit: 'share',
		group: 'heads',
		better: null,
		over: texts,
		explanation: 'Mean of what the head says of the same texts.',
		healthy: 'close to the mean label',
		rises: 'Above the labels: the head expects too much.',
		falls: 'Below the labels: the head expects too little.',
	},
	'head/brier': {
		title: 'Brier score of the update',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: texts,
		explanation:
			'Mean squared distance of value and label. In the first pass over a batch the head has not seen it yet.',
		healthy: 'below that of the mean label alone, which is at most 0.25',
	},
	'eval/head/loss': {
		title: 'Held-out loss of the head',
		unit: 'nats',
		group: 'heads',
		better: 'down',
		over: heldOut,
		explanation: 'Binary cross-entropy of value and outcome, or label where the stage learns from a file.',
		healthy: 'falls with the loss of training',
		rises: 'With the loss of training falling: the head overfits. Fewer passes over each batch, or more problems.',
	},
	'eval/head/brier': {
		title: 'Held-out Brier score',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: heldOut,
		explanation: 'Mean squared distance of value and outcome.',
		healthy: 'below that of the mean outcome alone, which is at most 0.25',
	},
	'eval/head/auc': {
		title: 'Held-out AUC',
		unit: 'share',
		group: 'heads',
		better: 'up',
		over: heldOut,
		explanation:
			'Probability that a beginning that came to a right answer has a higher value than one that did not. Beginnings that may still go either way hold it below 1.',
		healthy: 'above 0.5 and rising: a search that is guided by the head can gain',
		falls: 'The head forgets, or overfits.',
	},
	'eval/head/whole_auc': {
		title: 'Held-out AUC, whole completions',
		unit: 'share',
		group: 'heads',
		better: 'up',
		over: 'whole completions of held-out problems',
		explanation: 'The same over completions at their end: how well the head chooses among answers.',
		healthy: 'above 0.7 where best-of-n by the head is to beat the majority',
	},
	'eval/head/calibration_error': {
		title: 'Held-out calibration error',
		unit: 'share',
		group: 'heads',
		better: 'down',
		over: `${heldOut}, in ten bins of their value`,
		explanation: 'How far values are from the share of right answers among texts of about that value.',
		healthy: 'below 0.1',
	},
};
