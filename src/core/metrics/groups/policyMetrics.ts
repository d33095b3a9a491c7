import { limit } from '../../diagnosis/thresholds.ts';
import { type MetricEntry, update } from '../metricEntry.ts';

const first = 'the tokens in the first update of a batch';

export const policyMetrics: Readonly<Record<string, MetricEntry>> = {
	kl: {
		title: 'KL to reference',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: `mean over ${update}`,
		explanation: ({ stage }) =>
			stage === 'rloo' || stage === 'ppo'
				? 'Distance between the policy and the reference over the entire generation batch, based on the k1 estimator log policy - log reference. It is subtracted from the reward and can be negative.'
				: 'Distance between the policy and the reference, based on the k3 estimator r - 1 - log r with r = reference / policy. Never negative.',
		healthy: `grows slowly from 0 and remains below ${limit('klMean')}`,
		rises:
			'The policy is moving away from the reference. Jumps mean that the learning rate is too high, or that a few tokens became very unlikely.',
		falls: 'The KL term is pulling the policy back toward the reference.',
	},
	'objective/rlhf_reward': {
		title: 'Reward minus KL',
		unit: 'number',
		group: 'reward',
		better: 'up',
		over: 'mean over completions in the generation batch',
		explanation:
			"With ppo and a KL term: the reward of a completion minus kl_coef times its tokens' KL to the reference.",
		falls: 'While reward rises: the policy gains reward by moving away from the reference.',
	},
	entropy_coef: {
		title: 'Entropy coefficient',
		unit: 'number',
		group: 'policy',
		better: null,
		over: 'the next update',
		explanation:
			'Weight of the entropy bonus. With use_adaptive_entropy, it rises while the entropy is at or below entropy_target.',
	},
	'loss/policy': {
		title: 'Policy loss',
		unit: 'number',
		group: 'optimizer',
		better: null,
		over: 'mean over completion tokens in the update',
		explanation:
			'With ppo: the clipped surrogate. Its value does not measure progress; reward does. On the first update of a batch, it is minus the mean advantage, which is about 0 if advantages are whitened.',
	},
	'loss/value': {
		title: 'Value loss',
		unit: 'number',
		group: 'heads',
		better: 'down',
		over: 'mean over completion tokens in the update',
		explanation:
			'With ppo: half the squared difference between value and return, or between clipped value and return if that is larger.',
		rises:
			'The critic is lagging behind a fast-changing policy: use more passes, a higher critic_learning_rate, or a warm-up.',
	},
	'critic/value_mean': {
		title: 'Value',
		unit: 'number',
		group: 'heads',
		better: null,
		over: 'mean over completion tokens in the generation batch',
		explanation: 'Return that the critic expects, before the updates on the batch.',
		healthy: 'tracks the mean return',
	},
	'critic/return_mean': {
		title: 'Return',
		unit: 'number',
		group: 'heads',
		better: 'up',
		over: 'mean over completion tokens in the generation batch',
		explanation:
			'Training target of the critic: advantages plus values. With gamma and lam at 1 and no KL, it equals the reward.',
	},
	'critic/explained_variance': {
		title: 'Explained variance',
		unit: 'number',
		group: 'heads',
		better: 'up',
		over: 'completion tokens in the generation batch',
		explanation:
			'1 - Var(return - value) / Var(return), before the updates on the batch. 1: values predict returns exactly; 0: no better than predicting their mean; below 0: worse.',
		healthy: 'rises above 0 within a few dozen steps',
		falls: 'The critic is forgetting, or the policy is changing faster than the critic can learn.',
	},
	'critic/clip_ratio': {
		title: 'Clipped values',
		unit: 'share',
		group: 'heads',
		better: null,
		over: 'fraction of completion tokens in the update',
		explanation: 'Tokens whose value has changed by more than cliprange_value since the batch was sampled.',
		healthy: '0 with one update per batch',
	},
	'critic/grad_norm': {
		title: 'Critic gradient norm',
		unit: 'number',
		group: 'heads',
		better: null,
		over: 'the update, before clipping',
		explanation: 'Gradient norm of the critic, which has its own optimizer.',
		logScale: true,
	},
	policy_kl: {
		title: 'Update KL',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: 'mean over completion tokens in the update',
		explanation: 'Distance between the policy and the one that scored the batch, measured as log old - log new.',
		healthy: `within 0.01 of 0; below ${limit('policyKl')}`,
		rises: 'Updates are too large: use a lower learning rate or fewer passes over a batch.',
	},
	entropy: {
		title: 'Entropy',
		unit: 'nats',
		group: 'policy',
		better: null,
		over: `mean over ${update}`,
		explanation:
			'Uncertainty about the next token. Near 0, the policy no longer explores; a sudden rise means that it is collapsing.',
		healthy: `falls, quickly at first, then levels off above ${limit('entropyFloor')} until the task is solved`,
		rises:
			'The policy is exploring more. If the rise is sudden, it is collapsing or writing text unlike its training data.',
		falls:
			'The policy is trading exploration for reward. If reward is flat, it will not find anything new: raise temperature or epsilon_high.',
	},
	'sampling/sampling_logp_difference/mean': {
		title: 'Sampler difference',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: `mean over ${first}`,
		explanation:
			'Difference between the log-probabilities from the sampler and from the training graph. A consistency check; normally about 1e-5.',
		healthy: `about 1e-5 with one engine; about 0.01 between an inference server and a trainer, below ${limit('mismatchDifference')}`,
		rises:
			'Sampler and trainer no longer run the same policy: stale weights, or a different precision, template, or temperature.',
		logScale: true,
	},
	'sampling/sampling_logp_difference/max': {
		title: 'Sampler difference (max)',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: `max over ${first}`,
		explanation: 'Largest difference across tokens.',
		rises: 'Rare tokens are rounded differently; harmless on its own.',
		logScale: true,
	},
	'sampling/importance_sampling_ratio/mean': {
		title: 'Sampler ratio',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `mean over ${first}`,
		explanation: 'Probability of a sampled token in the training graph divided by its probability in the sampler.',
		healthy: `within ${limit('mismatchRatio')} of 1`,
		falls:
			'The trainer assigns lower probabilities to the samples than the sampler did: weights or temperatures differ.',
	},
	'sampling/importance_sampling_ratio/min': {
		title: 'Sampler ratio (min)',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `min over ${first}`,
		explanation: 'Token with the lowest probability in the trainer relative to the sampler.',
	},
	'sampling/importance_sampling_ratio/max': {
		title: 'Sampler ratio (max)',
		unit: 'number',
		group: 'policy',
		better: null,
		over: `max over ${first}`,
		explanation:
			'Token with the highest probability in the trainer relative to the sampler; often truncated at a limit.',
	},
	'world_model/loss': {
		title: 'Environment surprise',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: 'mean over environment tokens in the update',
		explanation:
			"Cross-entropy of the environment's responses under the policy (world_model_coeff). It is part of the loss.",
		healthy: 'falls quickly, then slowly, toward an irreducible floor',
		rises:
			'The policy is reaching parts of the environment it has not seen before, or the weight is too low to matter.',
	},
	'sample/staleness_mean': {
		title: 'Staleness',
		unit: 'number',
		group: 'policy',
		better: 'down',
		over: 'mean over the generation batch',
		explanation:
			'Number of updates between the weights that sampled a batch and the first update on it (max_staleness). 0: sampling waits for training.',
		healthy: 'rises to its limit in the first batches, then stays there',
	},
	'sample/staleness_max': {
		title: 'Staleness (max)',
		unit: 'number',
		group: 'policy',
		better: 'down',
		over: 'max over the generation batch',
		explanation: 'Age of the oldest tokens in the batch, in updates.',
	},
	'sampling/mismatch_kl': {
		title: 'Sampler mismatch',
		unit: 'nats',
		group: 'policy',
		better: 'down',
		over: 'mean over sampled tokens',
		explanation:
			'KL between the sampling policy and the policy being trained, at training time. It should reflect only rounding and, in asynchronous training, the updates made since sampling.',
		healthy: `about 0.001, below ${limit('mismatchKl')}`,
		rises: 'Sampler and trainer are drifting apart: weights arrive late or are wrong, or precision differs.',
		logScale: true,
	},
};
