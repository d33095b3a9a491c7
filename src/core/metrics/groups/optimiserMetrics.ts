import { lossMeaning } from '../lossMeaning.ts';
import type { MetricEntry } from '../metricEntry.ts';

export const optimiserMetrics: Readonly<Record<string, MetricEntry>> = {
	loss: {
		title: 'Loss',
		unit: 'number',
		group: 'optimiser',
		better: null,
		over: 'the update',
		explanation: lossMeaning,
		healthy: 'close to 0 on either side, without a trend of its own',
		rises:
			'Longer completions earn less than shorter ones, or the KL term grows. It does not mean that learning goes badly.',
		falls: 'Longer completions earn more than shorter ones. It does not mean that learning goes well.',
	},
	grad_norm: {
		title: 'Gradient norm',
		unit: 'number',
		group: 'optimiser',
		better: null,
		over: 'all parameters, before clipping',
		explanation:
			'Length of the gradient. Above max_grad_norm the gradient is scaled down to it; spikes are a sign of trouble.',
		healthy: 'of one order of magnitude; single spikes are clipped',
		rises: 'Steps are uncertain: rare tokens, few groups that teach, or a policy that falls apart.',
		falls: 'Little to learn: groups are dead, or the task is solved.',
		logScale: true,
	},
	learning_rate: {
		title: 'Learning rate',
		unit: 'number',
		group: 'optimiser',
		better: null,
		over: 'the update',
		explanation: 'The rate of AdamW at this update, after warm-up and schedule.',
		healthy: '1e-7 to 5e-6 for full models of billions of weights, ten times that for LoRA, more for small models',
	},
	epoch: {
		title: 'Epoch',
		unit: 'number',
		group: 'optimiser',
		better: null,
		over: 'all steps so far',
		explanation: 'Passes over the dataset.',
	},
};
