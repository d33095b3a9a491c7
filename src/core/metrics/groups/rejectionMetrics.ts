import type { MetricEntry } from '../metricEntry.ts';

const over = 'completions of the generation batch';

function dropped(title: string, explanation: string): MetricEntry {
	return { title, unit: 'share', group: 'reward', better: null, over, explanation };
}

/** Metrics for the data sampling stage. A completion counts only toward the first filter that drops it. */
export const rejectionMetrics: Readonly<Record<string, MetricEntry>> = {
	'rejection/kept': {
		title: 'Kept',
		unit: 'share',
		group: 'reward',
		better: 'up',
		over,
		explanation: 'Completions that pass every filter, before duplicates within a problem are removed.',
		healthy: 'above 0: otherwise the stage produces no data',
	},
	'rejection/truncated': dropped('Dropped: truncated', 'Completions that did not finish.'),
	'rejection/incorrect': dropped(
		'Dropped: incorrect',
		'Completions whose answer is incorrect, missing or cannot be judged.',
	),
	'rejection/unrewarded': dropped('Dropped: reward', 'Completions whose reward is below "minReward".'),
	'rejection/language': dropped('Dropped: language', 'Completions whose reasoning leaves the language.'),
	'rejection/short': dropped('Dropped: too short', 'Completions with fewer tokens than "minTokens".'),
	'rejection/long': dropped('Dropped: too long', 'Completions with more tokens than "maxTokens".'),
	'rejection/duplicate': dropped(
		'Dropped: duplicates',
		'Completions that repeat an earlier completion of the problem.',
	),
	'rejection/surplus': dropped('Dropped: over quota', 'Completions beyond "perProblem".'),
	'rejection/rows': {
		title: 'Data rows',
		unit: 'number',
		group: 'reward',
		better: null,
		over: 'the stage',
		explanation: 'Lines of data/completions.jsonl: completions kept after deduplication, plus rows mixed in.',
	},
};
