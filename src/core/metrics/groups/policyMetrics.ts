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
			stage === 'rloo' || stage === 'ppo'
				? 'How far the policy has moved from the reference, by the k1 estimator log policy - log reference, over the whole generation batch. It is subtracted from the reward and can be negative.'
				: 'How far the policy has moved from the reference, by the k3 estimator r - 1 - log r with r = reference / policy. Never negative.',
		healthy: `grows slowly from 0 and stays below ${limit('klMean')}`,
		rises: 'The policy moves away. If in jumps, the learning rate is too high, or a few tokens became very unlikely.',
		falls: 'The KL term pulls back toward the reference.',
	},
	'objective/rlhf_reward': {
		title: 'Reward minus KL',
		unit: 'number',
		group: 'reward',
		better: 'up',
		over: 'mean over completions of the generation batch',
		explanation:
			'ppo with a KL term: the reward of a completion minus kl_coef times the KL of its tokens to the reference.',
		falls: 'While reward rises: the policy pays for it by moving away from the reference.',
	},
	'loss/policy': {
		title: 'Policy loss',
		unit: 'number',
		group: 'optimiser',
		better: null,
		over: 'mean over completion tokens of the update',
		explanation:
			'ppo: the clipped surrogate. Its value does not measure progress; the reward does. At the first update of a batch it is minus the mean advantage, about 0 when advantages are whitened.',
	},
	'loss/value': {
		title: 'Value loss',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: 'mean over completion tokens of the update',
		explanation:
			'ppo: half the squared distance of value and return, or of clipped value and return if that is larger.',
		rises:
			'The critic lags behind a fast-changing policy: use more passes, a higher critic_learning_rate, or a warm-up.',
	},
	'critic/value_mean': {
		title: 'Value',
		unit: 'number',
		group: 'heads',
		better: null,
		over: 'mean over completion tokens of the generation batch',
		explanation: 'Expected return according to the critic, before the updates of the batch.',
		healthy: 'follows the mean return',
	},
	'critic/return_mean': {
		title: 'Return',
		unit: 'number',
		group: 'heads',
		better: 'up',
		over: 'mean over completion tokens of the generation batch',
		explanation:
			'Training target of the critic: advantages plus values. With gamma and lam 1 and no KL it is the reward.',
	},
	'critic/explained_variance': {
		title: 'Explained variance',
		unit: 'number',
		group: 'heads',
		better: 'up',
		over: 'completion tokens of the generation batch',
		explanation:
			'1 - Var(return - value) / Var(return), before the updates of the batch. 1: values predict returns exactly; 0: no better than their mean; below 0: worse.',
		healthy: 'rises above 0 within a few dozen steps',
		falls: 'The critic forgets, or the policy moves faster than the critic learns.',
	},
	'critic/clip_ratio': {
		title: 'Clipped values',
		unit: 'share',
		group: 'heads',
		better: null,
		over: 'share of completion tokens of the update',
		explanation: 'Tokens whose value has moved by more than cliprange_value since the batch was sampled.',
		healthy: '0 with one update per batch',
	},
	'critic/grad_norm': {
		title: 'Gradient norm of the critic',
		unit: 'number',
		group: 'heads',
		better: null,
		over: 'the update, before clipping',
		explanation: 'Norm of the gradient of the critic, which has its own optimizer.',
		logScale: true,
	},
	policy_kl: {
		title: 'KL of the update',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: 'mean over completion tokens of the update',
		explanation: 'How far the policy has moved from the one that scored the batch, by log old - log new.',
		healthy: `within 0.01 of 0; below ${limit('policyKl')}`,
		rises: 'Steps are too large: use a lower learning rate or fewer passes over a batch.',
	},
	entropy: {
		title: 'Entropy',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: `mean over ${update}`,
		explanation:
			'Uncertainty about the next token. Near 0 the policy no longer explores; a sudden rise means that it is collapsing.',
		healthy: `falls, quickly at first, and levels off above ${limit('entropyFloor')} until the task is solved`,
		rises: 'The policy explores more; if suddenly, it is collapsing or writes text unlike its training data.',
		falls:
			'Exploration is traded for reward. If reward is flat, nothing more will be found: raise temperature or epsilon_high.',
	},
	'sampling/sampling_logp_difference/mean': {
		title: 'Sampler difference',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: `mean over ${first}`,
		explanation:
			'Difference between the log-probabilities of the sampler and of the training graph: a consistency check, about 1e-5 normally.',
		healthy: `about 1e-5 with one engine; about 0.01 between an inference server and a trainer, below ${limit('mismatchDifference')}`,
		rises:
			'Sampler and trainer no longer run the same policy: stale weights, or different precision, template or temperature.',
		logScale: true,
	},
	'sampling/sampling_logp_difference/max': {
		title: 'Sampler difference (max)',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: `max over ${first}`,
		explanation: 'The worst token of that check.',
		rises: 'Rare tokens are rounded differently; harmless by itself.',
		logScale: true,
	},
	'sampling/importance_sampling_ratio/mean': {
		title: 'Sampler ratio',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `mean over ${first}`,
		explanation: 'Probability of a sampled token in the training graph divided by that in the sampler.',
		healthy: `within ${limit('mismatchRatio')} of 1`,
		falls:
			'The trainer assigns the samples less probability than the sampler did: their weights or temperatures differ.',
	},
	'sampling/importance_sampling_ratio/min': {
		title: 'Sampler ratio (min)',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `min over ${first}`,
		explanation: 'The token that is least likely for the trainer relative to the sampler.',
	},
	'sampling/importance_sampling_ratio/max': {
		title: 'Sampler ratio (max)',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `max over ${first}`,
		explanation: 'The token that is most likely for the trainer relative to the sampler; often truncated at a limit.',
	},
	'sampling/mismatch_kl': {
		title: 'Sampler mismatch',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: 'mean over sampled tokens',
		explanation:
			'KL between the policy that sampled and the policy being trained, at training time. Should be rounding error and, in asynchronous training, the steps in between.',
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
		falls: 'The policy stops using its tools: is there a reward for using them?',
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
