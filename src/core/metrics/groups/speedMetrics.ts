import type { MetricEntry } from '../metricEntry.ts';

export const speedMetrics: Readonly<Record<string, MetricEntry>> = {
	num_tokens: {
		title: 'Tokens processed',
		unit: 'tokens',
		group: 'speed',
		better: null,
		over: 'all steps so far',
		explanation: 'Prompt and completion tokens since the start of the run.',
	},
	step_time: {
		title: 'Step time',
		unit: 'seconds',
		group: 'speed',
		better: 'down',
		over: 'the step',
		explanation: 'Wall-clock time of the update. The first update of a generation batch includes sampling and scoring.',
		healthy: 'steady; grows with completion length',
		rises: 'Longer completions, slower rewards, or other load on the machine.',
	},
	'throughput/tokens': {
		title: 'Tokens per second',
		unit: 'rate',
		group: 'speed',
		better: 'up',
		over: 'the generation batch (in a cold start: the update)',
		explanation: 'Completion tokens per second of sampling time; during a cold start, training tokens per second.',
		healthy: 'steady',
		falls: 'A few long completions are delaying the batch, or there is other load on the machine.',
	},
	'gpu/bytes_up': {
		title: 'Bytes to the device',
		unit: 'bytes',
		group: 'speed',
		better: 'down',
		over: 'since the previous row',
		explanation:
			'Data that the embedded engine copied from the host to the GPU: batches, random numbers for sampling, and the initial weights.',
		healthy: 'steady; grows with the number of tokens',
	},
	'gpu/bytes_down': {
		title: 'Bytes from the device',
		unit: 'bytes',
		group: 'speed',
		better: 'down',
		over: 'since the previous row',
		explanation:
			'Data that the embedded engine copied from the GPU to the host: tokens, log-probabilities and entropies, and the weights for checkpoints.',
		healthy: 'steady; grows with the number of tokens',
	},
	'gpu/dispatches': {
		title: 'Operators on the device',
		unit: 'number',
		group: 'speed',
		better: 'down',
		over: 'since the previous row',
		explanation:
			'Operators in the programs that the embedded engine ran on the GPU. With CUDA, sampling a batch is one program with a loop over tokens, whose operators count once.',
		healthy: 'steady; grows with completion length, except with CUDA',
	},
	'throughput/completions': {
		title: 'Completions per second',
		unit: 'rate',
		group: 'speed',
		better: 'up',
		over: 'the generation batch',
		explanation: 'Completions per second of sampling time.',
		falls: 'Completions are getting longer, or there is other load on the machine.',
	},
};
