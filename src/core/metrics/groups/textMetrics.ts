import type { MetricEntry } from '../metricEntry.ts';

const heldOut = 'tokens of texts that are never trained on';

/** Of the stage that learns whole texts. */
export const textMetrics: Readonly<Record<string, MetricEntry>> = {
	'eval/text/loss': {
		title: 'Loss on held-out texts',
		unit: 'nats',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation: 'Negative log-likelihood per token of texts that the model does not learn.',
		healthy: 'falls with the loss of training and stays close to it',
		rises: 'With the loss of training falling: texts are learned by heart. There are too few of them.',
	},
	'eval/text/perplexity': {
		title: 'Perplexity of held-out texts',
		unit: 'number',
		group: 'evaluation',
		better: 'down',
		over: heldOut,
		explanation:
			'Exponential of the loss on held-out texts: among how many equally likely tokens the model chooses, on average.',
		healthy: 'far below the size of the vocabulary',
		logScale: true,
	},
};
