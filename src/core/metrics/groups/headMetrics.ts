import type { MetricEntry } from '../metricEntry.ts';

const texts = 'labeled completion prefixes in the update, measured before the update';
const heldOut = 'labeled completion prefixes for held-out problems';

/** Metrics for stages that train a head on top of the policy. */
export const headMetrics: Readonly<Record<string, MetricEntry>> = {
	'head/outcome': {
		title: 'Outcomes',
		unit: 'share',
		group: 'heads',
		better: null,
		over: 'completions in the generation batch, including those sampled from the prefix before a step',
		explanation:
			'Fraction of completions from the policy that are correct. The policy is frozen while a head is trained.',
		healthy: 'neither near 0 nor near 1: otherwise there is nothing to discriminate',
	},
	'head/steps_labeled': {
		title: 'Labeled steps',
		unit: 'number',
		group: 'heads',
		better: null,
		over: 'steps in the generation batch',
		explanation: 'With "active": steps whose labels were sampled. The ends of their solutions are also labeled.',
	},
	'head/uncertainty': {
		title: 'Uncertainty of all steps',
		unit: 'share',
		group: 'heads',
		better: 'down',
		over: 'steps in the generation batch',
		explanation: '4 value (1 - value): 1 where the head is undecided (0.5), 0 where it is certain.',
		healthy: 'falls from 1 as the head learns; what remains comes from steps whose outcome is still open',
	},
	'head/uncertainty_labeled': {
		title: 'Uncertainty of labeled steps',
		unit: 'share',
		group: 'heads',
		better: null,
		over: 'labeled steps in the generation batch',
		explanation: 'Same as the uncertainty of all steps, but only for the steps chosen for labeling.',
		healthy: 'above that of all steps; otherwise, choosing steps has no benefit',
	},
	'head/label': {
		title: 'Labels',
		unit: 'share',
		group: 'heads',
		better: null,
		over: texts,
		explanation: 'Mean of the labels that the head is trained on: outcomes, or fractions of correct completions.',
	},
	'head/value': {
		title: 'Values',
		unit: 'share',
		group: 'heads',
		better: null,
		over: texts,
		explanation: 'Mean value predicted by the head for the same prefixes.',
		healthy: 'close to the mean label',
		rises: 'Above the labels: the head is overestimating.',
		falls: 'Below the labels: the head is underestimating.',
	},
	'head/brier': {
		title: 'Brier score of the update',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: texts,
		explanation:
			'Mean squared difference between value and label. During the first pass over a batch, the head has not been trained on it yet.',
		healthy: 'below the score for always predicting the mean label, which is at most 0.25',
	},
	'eval/head/loss': {
		title: 'Held-out loss of the head',
		unit: 'nats',
		group: 'heads',
		better: 'down',
		over: heldOut,
		explanation:
			'Binary cross-entropy between value and outcome, or between value and label if the stage learns from a file.',
		healthy: 'falls with the training loss',
		rises:
			'While the training loss falls: the head is overfitting. Use fewer passes over each batch, or more problems.',
	},
	'eval/head/brier': {
		title: 'Held-out Brier score',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: heldOut,
		explanation: 'Mean squared difference between value and outcome.',
		healthy: 'below the score for always predicting the mean outcome, which is at most 0.25',
	},
	'eval/head/auc': {
		title: 'Held-out AUC',
		unit: 'share',
		group: 'heads',
		better: 'up',
		over: heldOut,
		explanation:
			'Probability that a prefix that led to a correct answer gets a higher value than one that did not. Prefixes whose outcome is still undecided keep it below 1.',
		healthy: 'above 0.5 and rising, so that search guided by the head can improve results',
		falls: 'The head is forgetting or overfitting.',
	},
	'eval/head/whole_auc': {
		title: 'Held-out AUC, whole completions',
		unit: 'share',
		group: 'heads',
		better: 'up',
		over: 'full completions for held-out problems',
		explanation: 'AUC over completed answers only: how well the head chooses among them.',
		healthy: 'above 0.7, so that best-of-n with the head beats majority voting',
	},
	'eval/head/calibration_error': {
		title: 'Held-out calibration error',
		unit: 'share',
		group: 'heads',
		better: 'down',
		over: `${heldOut}, in ten bins by value`,
		explanation: 'Difference between values and the fraction of correct answers among prefixes with similar values.',
		healthy: 'below 0.1',
	},
};
