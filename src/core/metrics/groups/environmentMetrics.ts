import { limit } from '../../diagnosis/thresholds.ts';
import type { MetricEntry } from '../metricEntry.ts';

const episodes = 'episodes in the generation batch';

export const environmentMetrics: Readonly<Record<string, MetricEntry>> = {
	'environment/turns': {
		title: 'Turns',
		unit: 'number',
		group: 'environment',
		better: null,
		over: `mean over ${episodes}`,
		explanation: 'Turns per episode. A turn is a message with tool calls and their results.',
		rises: 'Episodes need, or use, more turns.',
		falls: 'The policy solves tasks in fewer turns, or gives up earlier.',
	},
	'tools/call_frequency': {
		title: 'Tool calls',
		unit: 'number',
		group: 'environment',
		better: null,
		over: 'mean over completions in the generation batch',
		explanation: 'Tool calls per completion.',
		healthy: `above ${limit('unusedCalls')}, unless tasks need no tools`,
		rises: 'The policy is relying on its tools.',
		falls: 'The policy is no longer using its tools: is there a reward for using them?',
	},
	'tools/failure_frequency': {
		title: 'Tool call failures',
		unit: 'share',
		group: 'environment',
		better: 'down',
		over: 'fraction of the tool calls in the generation batch',
		explanation: 'Tool calls that failed.',
		healthy: `below ${limit('toolFailures')}, and falling`,
		rises: 'Calls are malformed, or the tool itself fails.',
	},
	'environment/seconds': {
		title: 'Seconds in the environment',
		unit: 'seconds',
		group: 'environment',
		better: 'down',
		over: `sum over ${episodes}`,
		explanation: 'Time for resets, tools and rewards, including communication with the environment process.',
		healthy: 'less than the sampling time',
		rises: 'More turns, slower tools, or other load on the machine.',
	},
	'environment/timeouts': {
		title: 'Timeouts',
		unit: 'number',
		group: 'environment',
		better: 'down',
		over: episodes,
		explanation: 'Episodes that failed because a reset, a turn or a reward exceeded its time limit.',
		healthy: '0',
	},
	'environment/failed': {
		title: 'Failed episodes',
		unit: 'number',
		group: 'environment',
		better: 'down',
		over: episodes,
		explanation:
			'Episodes that failed, for any reason. They have no reward and are excluded from their groups. A failed tool call does not fail the episode.',
		healthy: '0',
		rises: 'The environment file raises exceptions, exceeds its limits, or terminates its process.',
	},
};
