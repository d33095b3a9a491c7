import type { MetricEntry } from '../metricEntry.ts';

const pairs = 'pairs of the update';

/** Of the stages that learn from pairs of a better and a worse completion, and of those that learn to judge. */
export const preferenceMetrics: Readonly<Record<string, MetricEntry>> = {
	'rewards/accuracies': {
		title: 'Pairs in order',
		unit: 'share',
		group: 'preferences',
		better: 'up',
		over: `share of the ${pairs}`,
		explanation:
			'Pairs whose chosen completion has the larger implicit reward. About 0.5 before training: policy and reference are then one.',
		healthy: 'rises from 0.5; at 1 early on the pairs are too easy',
		falls: 'Pairs of another kind, or a learning rate that is too high.',
	},
	'rewards/margins': {
		title: 'Margin',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation: 'Implicit reward of the chosen completion minus that of the rejected one.',
		healthy: 'rises from 0 and levels off',
		rises: 'The pairs are told apart. Together with falling log-probabilities of both: the policy drifts away.',
	},
	'rewards/chosen': {
		title: 'Implicit reward, chosen',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation:
			'beta times the log-ratio of policy and reference of the better completion: above 0 where the policy has made it more likely.',
		falls: 'Better completions become less likely, too: common in DPO, harmful when it goes on.',
	},
	'rewards/rejected': {
		title: 'Implicit reward, rejected',
		unit: 'number',
		group: 'preferences',
		better: 'down',
		over: `mean over the ${pairs}`,
		explanation: 'beta times the log-ratio of policy and reference of the worse completion.',
		falls: 'Worse completions become less likely.',
	},
	'logps/chosen': {
		title: 'Log-probability, chosen',
		unit: 'nats',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}, summed over tokens`,
		explanation: 'Of the better completion under the policy.',
		falls: 'The policy forgets what it is to prefer: a lower learning rate, a larger beta, or an SFT term.',
	},
	'logps/rejected': {
		title: 'Log-probability, rejected',
		unit: 'nats',
		group: 'preferences',
		better: null,
		over: `mean over the ${pairs}, summed over tokens`,
		explanation: 'Of the worse completion under the policy.',
	},
	'logits/chosen': {
		title: 'Logits, chosen',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over tokens and vocabulary',
		explanation: 'Of the better completions. It has no zero: only a sudden change tells something.',
	},
	'logits/rejected': {
		title: 'Logits, rejected',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over tokens and vocabulary',
		explanation: 'Of the worse completions. It has no zero: only a sudden change tells something.',
	},
	accuracy: {
		title: 'Accuracy',
		unit: 'share',
		group: 'preferences',
		better: 'up',
		over: 'judgements of the update',
		explanation: ({ stage }) =>
			stage === 'process-reward-model'
				? 'Steps whose label the model gets right.'
				: stage === 'reward-model'
					? 'Pairs whose chosen completion scores higher. About 0.5 before training.'
					: 'Of a model that judges: pairs that it puts in order, or steps whose label it gets right.',
		healthy: 'above 0.5 and rising; what counts is the same on held-out data',
	},
	margin: {
		title: 'Margin of scores',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation: 'Score of the chosen completion minus that of the rejected one.',
		rises: 'The pairs are told apart. Without an end: the model grows sure of itself, look at held-out accuracy.',
	},
	mean_reward: {
		title: 'Score',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over both completions of the pairs of the update',
		explanation: 'What the reward model says. It has no zero: only differences are trained.',
	},
	min_reward: {
		title: 'Score, least',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'smallest of the completions of the update',
		explanation: 'The completion that the reward model likes least.',
	},
	max_reward: {
		title: 'Score, most',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'largest of the completions of the update',
		explanation: 'The completion that the reward model likes most.',
	},
};
