import type { MetricEntry } from '../metricEntry.ts';

const heldOut = 'tokens of held-out texts';

/** Metrics for the stage that trains on whole texts. */
export const textMetrics: Readonly<Record<string, MetricEntry>> = {
	'eval/text/loss': {
		title: 'Held-out text loss',
		unit: 'nats',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation: 'Negative log-likelihood per token on texts that are not used for training.',
		healthy: 'falls with the training loss and remains close to it',
		rises: 'While the training loss falls: the model is memorizing texts because there are too few.',
	},
	'eval/text/perplexity': {
		title: 'Held-out text perplexity',
		unit: 'number',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation:
			'Exponential of the held-out loss: the average number of equally likely tokens that the model chooses from.',
		healthy: 'far below the vocabulary size',
		logScale: true,
	},
};
