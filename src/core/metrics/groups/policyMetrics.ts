import { limit } from '../../diagnosis/thresholds.ts';
import { type MetricEntry, update } from '../metricEntry.ts';

const first = 'the tokens of the first update of a batch';

export const policyMetrics: Readonly<Record<string, MetricEntry>> = {
	kl: {
		title: 'KL to the reference',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: `mean over ${update}`,
		explanation: ({ stage }) =>
			stage === 'rloo'
				? 'How far the policy has moved from the reference, by the k1 estimator log policy - log reference, over the whole generation batch. It is taken from the reward, and may be below 0.'
				: 'How far the policy has moved from the reference, by the k3 estimator r - 1 - log r with r = reference / policy. Never below 0.',
		healthy: `grows slowly from 0 and stays below ${limit('klMean')}`,
		rises: 'The policy moves away. In jumps: the learning rate is too high, or a few tokens became very unlikely.',
		falls: 'The KL term pulls back towards the reference.',
	},
	policy_kl: {
		title: 'KL of the update',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: 'mean over completion tokens of the update',
		explanation: 'How far the policy has moved from the one that the batch was scored under, by log old - log new.',
		healthy: `within 0.01 of 0; below ${limit('policyKl')}`,
		rises: 'Steps are large: a lower learning rate or fewer passes over a batch.',
	},
	entropy: {
		title: 'Entropy',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: `mean over ${update}`,
		explanation:
			'Uncertainty about the next token. Near 0 the policy no longer explores; a sudden rise means that it falls apart.',
		healthy: `falls, quickly at first, and levels off above ${limit('entropyFloor')} until the task is solved`,
		rises: 'The policy explores more; suddenly: it falls apart, or writes what it was never trained on.',
		falls:
			'Exploration is spent for reward. With reward flat nothing more will be found: a higher temperature or epsilon_high.',
	},
	'sampling/sampling_logp_difference/mean': {
		title: 'Sampler difference',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: `mean over ${first}`,
		explanation:
			'Distance between the log-probabilities of the sampler and of the training graph: a check, about 1e-5 when all is well.',
		healthy: `about 1e-5 with one engine; about 0.01 between an inference server and a trainer, below ${limit('mismatchDifference')}`,
		rises: 'Sampler and trainer are no longer one policy: stale weights, another precision, template or temperature.',
		logScale: true,
	},
	'sampling/sampling_logp_difference/max': {
		title: 'Sampler difference, most',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: `largest over ${first}`,
		explanation: 'The worst token of that check.',
		rises: 'Rare tokens are rounded differently; alone it is no harm.',
		logScale: true,
	},
	'sampling/importance_sampling_ratio/mean': {
		title: 'Sampler ratio',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `mean over ${first}`,
		explanation: 'Probability of a sampled token in the training graph over that in the sampler.',
		healthy: `within ${limit('mismatchRatio')} of 1`,
		falls: 'The trainer thinks less of the samples than who sampled them: their weights or temperatures differ.',
	},
	'sampling/importance_sampling_ratio/min': {
		title: 'Sampler ratio, least',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `smallest over ${first}`,
		explanation: 'The token that the trainer thinks least likely, compared with the sampler.',
	},
	'sampling/importance_sampling_ratio/max': {
		title: 'Sampler ratio, most',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `largest over ${first}`,
		explanation: 'The token that the trainer thinks most likely, compared with the sampler; often cut off at a limit.',
	},
	'sampling/mismatch_kl': {
		title: 'Sampler mismatch',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: 'mean over sampled tokens',
		explanation:
			'KL between the policy that sampled and the policy that is trained, at the time of training. It should be rounding and, in asynchronous training, the steps in between.',
		healthy: `about 0.001, below ${limit('mismatchKl')}`,
		rises: 'Sampler and trainer drift apart: weights arrive late or wrong, or precision differs.',
		logScale: true,
	},
	'tools/call_frequency': {
		title: 'Tool calls',
		unit: 'number',
		group: 'other',
		better: null,
		over: 'mean over completions of the generation batch',
		explanation: 'Tool calls per completion.',
		rises: 'The policy relies on its tools.',
		falls: 'The policy does without its tools: is it paid for using them?',
	},
	'tools/failure_frequency': {
		title: 'Tool failures',
		unit: 'share',
		group: 'other',
		better: 'down',
		over: 'share of the tool calls of the generation batch',
		explanation: 'Calls that failed.',
		rises: 'Calls are malformed, or the tool itself fails.',
	},
};
