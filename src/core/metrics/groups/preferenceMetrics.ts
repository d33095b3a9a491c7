import type { MetricEntry } from '../metricEntry.ts';

const pairs = 'pairs in the update';

/** Metrics for stages that learn from preference pairs, and for stages that train a judge model. */
export const preferenceMetrics: Readonly<Record<string, MetricEntry>> = {
	'rewards/accuracies': {
		title: 'Correctly ordered pairs',
		unit: 'share',
		group: 'preferences',
		better: 'up',
		over: `fraction of the ${pairs}`,
		explanation:
			'Pairs whose chosen completion has the higher implicit reward. About 0.5 before training, when policy and reference are identical.',
		healthy: 'rises from 0.5; if it reaches 1 early, the pairs are too easy',
		falls: 'The type of pairs has changed, or the learning rate is too high.',
	},
	'rewards/margins': {
		title: 'Margin',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation: 'Implicit reward of the chosen completion minus that of the rejected one.',
		healthy: 'rises from 0 and levels off',
		rises: 'Pairs are better separated. If the log-probabilities of both completions fall, the policy is drifting.',
	},
	'rewards/chosen': {
		title: 'Implicit reward, chosen',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation:
			'beta times the log-ratio of policy and reference for the chosen completion. Above 0 if the policy has made it more likely.',
		falls: 'Chosen completions become less likely too, which is common in DPO but harmful if it continues.',
	},
	'rewards/rejected': {
		title: 'Implicit reward, rejected',
		unit: 'number',
		group: 'preferences',
		better: 'down',
		over: `mean over the ${pairs}`,
		explanation: 'beta times the log-ratio of policy and reference for the rejected completion.',
		falls: 'Rejected completions become less likely.',
	},
	'logps/chosen': {
		title: 'Log-probability, chosen',
		unit: 'nats',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}, summed over tokens`,
		explanation: 'Log-probability of the chosen completion under the policy.',
		falls: 'The policy is forgetting what it should prefer: use a lower learning rate, a larger beta, or an SFT term.',
	},
	'logps/rejected': {
		title: 'Log-probability, rejected',
		unit: 'nats',
		group: 'preferences',
		better: null,
		over: `mean over the ${pairs}, summed over tokens`,
		explanation: 'Log-probability of the rejected completion under the policy.',
	},
	'logits/chosen': {
		title: 'Logits, chosen',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over tokens and vocabulary',
		explanation: 'Mean logit of the chosen completions. The level is arbitrary; only sudden changes are meaningful.',
	},
	'logits/rejected': {
		title: 'Logits, rejected',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over tokens and vocabulary',
		explanation: 'Mean logit of the rejected completions. The level is arbitrary; only sudden changes are meaningful.',
	},
	accuracy: {
		title: 'Accuracy',
		unit: 'share',
		group: 'preferences',
		better: 'up',
		over: 'judgments in the update',
		explanation: ({ stage }) =>
			stage === 'process-reward-model'
				? 'Steps whose label the model predicts correctly.'
				: stage === 'reward-model'
					? 'Pairs whose chosen completion scores higher. About 0.5 before training.'
					: 'For a judge model: correctly ordered pairs, or steps whose label it predicts correctly.',
		healthy: 'above 0.5 and rising; only the held-out value is conclusive',
	},
	margin: {
		title: 'Score margin',
		unit: 'number',
		group: 'preferences',
		better: 'up',
		over: `mean over the ${pairs}`,
		explanation: 'Score of the chosen completion minus that of the rejected one.',
		rises:
			'Pairs are better separated. If the margin grows without bound, the model is overconfident: check held-out accuracy.',
	},
	mean_reward: {
		title: 'Score',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'mean over both completions of the pairs in the update',
		explanation: 'Score from the reward model. The level is arbitrary; only differences are trained.',
	},
	min_reward: {
		title: 'Score (min)',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'min over completions in the update',
		explanation: 'Lowest score from the reward model.',
	},
	max_reward: {
		title: 'Score (max)',
		unit: 'number',
		group: 'preferences',
		better: null,
		over: 'max over completions in the update',
		explanation: 'Highest score from the reward model.',
	},
};
