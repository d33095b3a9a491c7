import type { MetricEntry } from '../metricEntry.ts';

const over = 'completions of the generation batch';

function dropped(title: string, explanation: string): MetricEntry {
	return { title, unit: 'share', group: 'reward', better: null, over, explanation };
}

/** Of the stage that samples data. A completion counts under the first reason that holds. */
export const rejectionMetrics: Readonly<Record<string, MetricEntry>> = {
	'rejection/kept': {
		title: 'Kept',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over,
		explanation: 'Completions that every filter lets pass, before duplicates of a problem are looked for.',
		healthy: 'above 0: else there is no data at the end',
	},
	'rejection/truncated': dropped('Dropped: cut off', 'Completions that did not end by themselves.'),
	'rejection/incorrect': dropped(
		'Dropped: not right',
		'Completions whose answer is wrong, missing or cannot be judged.',
	),
	'rejection/unrewarded': dropped('Dropped: reward', 'Completions whose reward is below "minReward".'),
	'rejection/language': dropped('Dropped: language', 'Completions whose thinking leaves the language.'),
	'rejection/short': dropped('Dropped: too short', 'Completions of fewer tokens than "minTokens".'),
	'rejection/long': dropped('Dropped: too long', 'Completions of more tokens than "maxTokens".'),
	'rejection/duplicate': dropped(
		'Dropped: duplicates',
		'Completions that say what an earlier one of the problem says.',
	),
	'rejection/surplus': dropped('Dropped: surplus', 'Completions beyond "perProblem".'),
	'rejection/rows': {
		title: 'Rows of data',
		unit: 'number',
		group: 'reward',
		better: null,
		over: 'the stage',
		explanation: 'Lines of data/completions.jsonl: what is kept when duplicates are gone, and what is mixed in.',
	},
};
