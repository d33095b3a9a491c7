import type { MetricEntry } from '../metricEntry.ts';

const heldOut = 'tokens in held-out text';

/** Metrics for the stage that trains on plain text. */
export const textMetrics: Readonly<Record<string, MetricEntry>> = {
	'eval/text/loss': {
		title: 'Held-out text loss',
		unit: 'nats',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation: 'Negative log-likelihood per token on text that is not used for training.',
		healthy: 'falls with the training loss and remains close to it',
		rises:
			'While the training loss falls: the model is memorizing the training text because there is too little of it.',
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
