import type { MetricEntry } from '../metricEntry.ts';

const heldOut = 'tokens of held-out texts';

/** Metrics for the stage that trains on whole texts. */
export const textMetrics: Readonly<Record<string, MetricEntry>> = {
	'eval/text/loss': {
		title: 'Loss on held-out texts',
		unit: 'nats',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation: 'Negative log-likelihood per token of texts that are not trained on.',
		healthy: 'falls with the training loss and stays close to it',
		rises: 'While the training loss falls: texts are memorized. There are too few of them.',
	},
	'eval/text/perplexity': {
		title: 'Perplexity of held-out texts',
		unit: 'number',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation:
			'Exponential of the held-out loss: the number of equally likely tokens that the model chooses among, on average.',
		healthy: 'far below the vocabulary size',
		logScale: true,
	},
};
