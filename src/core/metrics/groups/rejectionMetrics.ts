import type { MetricEntry } from '../metricEntry.ts';

const over = 'completions in the generation batch';

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
		explanation: 'Completions that pass every filter, before removing duplicates within each problem.',
		healthy: 'above 0: otherwise the stage produces no data',
	},
	'rejection/truncated': dropped('Dropped: truncated', 'Completions that were truncated.'),
	'rejection/incorrect': dropped(
		'Dropped: incorrect',
		'Completions whose answer is incorrect, missing, or impossible to judge.',
	),
	'rejection/unrewarded': dropped('Dropped: reward', 'Completions whose reward is below "minReward".'),
	'rejection/language': dropped('Dropped: language', 'Completions whose reasoning switches to another language.'),
	'rejection/short': dropped('Dropped: too short', 'Completions that are empty or have fewer tokens than "minTokens".'),
	'rejection/long': dropped('Dropped: too long', 'Completions with more tokens than "maxTokens".'),
	'rejection/duplicate': dropped(
		'Dropped: duplicates',
		'Completions that duplicate an earlier completion for the same problem.',
	),
	'rejection/surplus': dropped('Dropped: over quota', 'Completions that exceed "perProblem".'),
	'rejection/rows': {
		title: 'Data rows',
		unit: 'number',
		group: 'reward',
		better: null,
		over: 'the stage',
		explanation: 'Lines in data/completions.jsonl: completions kept after deduplication, plus any rows mixed in.',
	},
};
