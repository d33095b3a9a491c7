import type { MetricEntry } from '../metricEntry.ts';

const texts = 'labeled prefixes of completions of the update, before it';
const heldOut = 'labeled prefixes of completions of held-out problems';

/** Metrics for stages that train a head on top of the policy. */
export const headMetrics: Readonly<Record<string, MetricEntry>> = {
	'head/outcome': {
		title: 'Outcomes',
		unit: 'share',
		group: 'heads',
		better: null,
		over: 'completions of the generation batch, including those sampled from the prefix before a step',
		explanation: 'Share of correct completions of the policy. The policy is frozen while a head is trained.',
		healthy: 'neither near 0 nor near 1: otherwise there is nothing to discriminate',
	},
	'head/label': {
		title: 'Labels',
		unit: 'share',
		group: 'heads',
		better: null,
		over: texts,
		explanation: 'Mean of the labels that the head is trained on: outcomes, or shares of correct completions.',
	},
	'head/value': {
		title: 'Values',
		unit: 'share',
		group: 'heads',
		better: null,
		over: texts,
		explanation: 'Mean value that the head predicts for the same prefixes.',
		healthy: 'close to the mean label',
		rises: 'Above the labels: the head overestimates.',
		falls: 'Below the labels: the head underestimates.',
	},
	'head/brier': {
		title: 'Brier score of the update',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: texts,
		explanation:
			'Mean squared distance of value and label. In the first pass over a batch, the head has not been trained on it yet.',
		healthy: 'below that of always predicting the mean label, which is at most 0.25',
	},
	'eval/head/loss': {
		title: 'Held-out loss of the head',
		unit: 'nats',
		group: 'heads',
		better: 'down',
		over: heldOut,
		explanation: 'Binary cross-entropy of value and outcome, or of value and label if the stage learns from a file.',
		healthy: 'falls with the training loss',
		rises: 'While the training loss falls: the head overfits. Use fewer passes over each batch, or more problems.',
	},
	'eval/head/brier': {
		title: 'Held-out Brier score',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: heldOut,
		explanation: 'Mean squared distance of value and outcome.',
		healthy: 'below that of always predicting the mean outcome, which is at most 0.25',
	},
	'eval/head/auc': {
		title: 'Held-out AUC',
		unit: 'share',
		group: 'heads',
		better: 'up',
		over: heldOut,
		explanation:
			'Probability that a prefix that led to a correct answer gets a higher value than one that did not. Prefixes whose outcome is still open keep it below 1.',
		healthy: 'above 0.5 and rising: search guided by the head can then gain',
		falls: 'The head forgets, or overfits.',
	},
	'eval/head/whole_auc': {
		title: 'Held-out AUC, whole completions',
		unit: 'share',
		group: 'heads',
		better: 'up',
		over: 'whole completions of held-out problems',
		explanation: 'The same over completed answers: how well the head picks among them.',
		healthy: 'above 0.7 for best-of-n with the head to beat majority voting',
	},
	'eval/head/calibration_error': {
		title: 'Held-out calibration error',
		unit: 'share',
		group: 'heads',
		better: 'down',
		over: `${heldOut}, in ten bins of their value`,
		explanation: 'Distance between values and the share of correct answers among prefixes of similar value.',
		healthy: 'below 0.1',
	},
};
