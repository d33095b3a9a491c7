import type { MetricEntry } from '../metricEntry.ts';

/** Metrics for stages with "latent". */
export const latentMetrics: Readonly<Record<string, MetricEntry>> = {
	'latent/stage': {
		title: 'Latent stage',
		unit: 'number',
		group: 'lengths',
		better: null,
		over: 'the worked solutions in the update',
		explanation:
			'Number of steps at the start of each worked solution that latent thoughts replace. When it rises, the loss first drops because fewer tokens are written, and then depends on what the thoughts contain.',
	},
	'latent/thoughts': {
		title: 'Latent thoughts',
		unit: 'number',
		group: 'lengths',
		better: null,
		over: 'the worked solutions in the update',
		explanation: 'Number of latent thoughts in each completion: "thoughts_per_step" for each step they replace.',
	},
};
