import { limit } from '../../diagnosis/thresholds.ts';
import { batch, type MetricEntry } from '../metricEntry.ts';

const tokens = (title: string, over: string, explanation: string, more: Partial<MetricEntry> = {}): MetricEntry => ({
	title,
	unit: 'tokens',
	group: 'lengths',
	better: null,
	over,
	explanation,
	...more,
});
const prompts = 'prompts of the generation batch';

export const lengthMetrics: Readonly<Record<string, MetricEntry>> = {
	'completions/mean_length': tokens(
		'Completion length',
		`mean over ${batch}`,
		'Tokens per completion, end-of-sequence included.',
		{
			healthy: 'changes slowly; growth comes with reward',
			rises: 'More thinking where reward rises too; otherwise padding, loops, or a loss that favours length.',
			falls: 'Answers without thinking, or a reward that pays for brevity.',
		},
	),
	'completions/min_length': tokens(
		'Shortest completion',
		`smallest of the ${batch}`,
		'Tokens of the shortest completion.',
		{ healthy: 'above 1', falls: 'Some completions end at once.' },
	),
	'completions/max_length': tokens(
		'Longest completion',
		`largest of the ${batch}`,
		'Tokens of the longest completion.',
		{ rises: 'At max_completion_length completions are cut off: see truncated completions.' },
	),
	'completions/clipped_ratio': {
		title: 'Truncated completions',
		unit: 'share',
		group: 'lengths',
		better: 'down',
		over: `share of the ${batch}`,
		explanation: 'Completions that reached max_completion_length before they ended.',
		healthy: `below ${limit('overlongShare')}, and falling`,
		rises: 'Completions outgrow the limit: raise it, mask them, or look for loops.',
		falls: 'The policy learns to end.',
	},
	'completions/mean_terminated_length': tokens(
		'Completed-response length',
		`mean over the ${batch} that ended by themselves`,
		'Tokens per completion, truncated ones left out.',
	),
	'completions/min_terminated_length': tokens(
		'Shortest ended completion',
		`smallest of the ${batch} that ended by themselves`,
		'Truncated ones left out.',
	),
	'completions/max_terminated_length': tokens(
		'Longest ended completion',
		`largest of the ${batch} that ended by themselves`,
		'Truncated ones left out.',
	),
	'prompts/mean_length': tokens('Prompt length', `mean over ${prompts}`, 'Tokens per prompt, template included.'),
	'prompts/min_length': tokens('Shortest prompt', `smallest of the ${prompts}`, 'Tokens of the shortest prompt.'),
	'prompts/max_length': tokens('Longest prompt', `largest of the ${prompts}`, 'Tokens of the longest prompt.'),
	'prompts/clipped_ratio': {
		title: 'Longest prompts',
		unit: 'share',
		group: 'lengths',
		better: 'down',
		over: `share of the ${prompts}`,
		explanation: 'Prompts that fill all the room there is for them: they may have been cut off.',
		healthy: 'close to 0',
	},
};
