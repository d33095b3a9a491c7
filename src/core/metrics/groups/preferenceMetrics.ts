import type { MetricEntry } from '../metricEntry.ts';

const pairs = 'pairs of the update';

/** Metrics for stages that learn from preference pairs, and for stages that train a judge model. */
export const preferenceMetrics: Readonly<Record<string, MetricEntry>> = {
	'rewards/accuracies': {
		title: 'Pairs in order',
		unit: 'share',
		group: 'preferences',
		better: 'up',
		over: `share of the ${pairs}`,
		explanation:
			'Pairs whose chosen completion has the larger implicit reward. About 0.5 before training, when policy and reference are identical.',
		healthy: 'rises from 0.5; at 1 early on, the pairs are too easy',
		falls: 'Pairs of a different kind, or a learning rate that is too high.',
	},
	'rewards/margins': {
		title: 'Margin',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation: 'Implicit reward of the chosen completion minus that of the rejected one.',
		healthy: 'rises from 0 and levels off',
		rises: 'Pairs are separated better. Together with falling log-probabilities of both: the policy drifts.',
	},
	'rewards/chosen': {
		title: 'Implicit reward, chosen',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation:
			'beta times the log-ratio of policy and reference for the better completion: above 0 if the policy has made it more likely.',
		falls: 'Better completions become less likely too: common in DPO, harmful if it continues.',
	},
	'rewards/rejected': {
		title: 'Implicit reward, rejected',
		unit: 'number',
		group: 'preferences',
		better: 'down',
		over: `mean over the ${pairs}`,
		explanation: 'beta times the log-ratio of policy and reference for the worse completion.',
		falls: 'Worse completions become less likely.',
	},
	'logps/chosen': {
		title: 'Log-probability, chosen',
		unit: 'nats',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}, summed over tokens`,
		explanation: 'Log-probability of the better completion under the policy.',
		falls: 'The policy forgets what it should prefer: use a lower learning rate, a larger beta, or an SFT term.',
	},
	'logps/rejected': {
		title: 'Log-probability, rejected',
		unit: 'nats',
		group: 'preferences',
		better: null,
		over: `mean over the ${pairs}, summed over tokens`,
		explanation: 'Log-probability of the worse completion under the policy.',
	},
	'logits/chosen': {
		title: 'Logits, chosen',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over tokens and vocabulary',
		explanation: 'Mean logit of the better completions. The level is arbitrary: only sudden changes are meaningful.',
	},
	'logits/rejected': {
		title: 'Logits, rejected',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over tokens and vocabulary',
		explanation: 'Mean logit of the worse completions. The level is arbitrary: only sudden changes are meaningful.',
	},
	accuracy: {
		title: 'Accuracy',
		unit: 'share',
		group: 'preferences',
		better: 'up',
		over: 'judgments of the update',
		explanation: ({ stage }) =>
			stage === 'process-reward-model'
				? 'Steps whose label the model predicts correctly.'
				: stage === 'reward-model'
					? 'Pairs whose chosen completion scores higher. About 0.5 before training.'
					: 'For a judging model: pairs in the right order, or steps whose label it predicts correctly.',
		healthy: 'above 0.5 and rising; the held-out value is the one that counts',
	},
	margin: {
		title: 'Score margin',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation: 'Score of the chosen completion minus that of the rejected one.',
		rises:
			'Pairs are separated better. If it rises without limit, the model is overconfident: check held-out accuracy.',
	},
	mean_reward: {
		title: 'Score',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over both completions of the pairs of the update',
		explanation: 'Score given by the reward model. The level is arbitrary: only differences are trained.',
	},
	min_reward: {
		title: 'Score (min)',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'min over completions of the update',
		explanation: 'Lowest score given by the reward model.',
	},
	max_reward: {
		title: 'Score (max)',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'max over completions of the update',
		explanation: 'Highest score given by the reward model.',
	},
};
