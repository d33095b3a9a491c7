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
const prompts = 'prompts in the generation batch';

export const lengthMetrics: Readonly<Record<string, MetricEntry>> = {
	'completions/mean_length': tokens(
		'Completion length',
		`mean over ${batch}`,
		'Tokens per completion, including end-of-sequence.',
		{
			healthy: 'changes slowly, together with reward',
			rises: 'More reasoning if reward is rising too; otherwise padding, loops, or a loss that favors length.',
			falls: 'Answers without reasoning, or a reward that favors brevity.',
		},
	),
	'completions/min_length': tokens(
		'Shortest completion',
		`min over the ${batch}`,
		'Number of tokens in the shortest completion.',
		{ healthy: 'above 1', falls: 'Some completions stop immediately.' },
	),
	'completions/max_length': tokens(
		'Longest completion',
		`max over the ${batch}`,
		'Number of tokens in the longest completion.',
		{
			rises: 'Completions are truncated at max_completion_length; see truncated completions.',
		},
	),
	'completions/clipped_ratio': {
		title: 'Truncated completions',
		unit: 'share',
		group: 'lengths',
		better: 'down',
		over: `fraction of the ${batch}`,
		explanation: 'Completions that reached max_completion_length before finishing.',
		healthy: `below ${limit('overlongShare')}, and falling`,
		rises: 'Completions are outgrowing the limit: raise the limit, mask truncated completions, or look for loops.',
		falls: 'The policy is learning to stop.',
	},
	'completions/mean_terminated_length': tokens(
		'Completed-response length',
		`mean over the ${batch} that finished (EOS)`,
		'Tokens per completion, excluding truncated ones.',
	),
	'completions/min_terminated_length': tokens(
		'Shortest completed response',
		`min over the ${batch} that finished (EOS)`,
		'Excludes truncated completions.',
	),
	'completions/max_terminated_length': tokens(
		'Longest completed response',
		`max over the ${batch} that finished (EOS)`,
		'Excludes truncated completions.',
	),
	'prompts/mean_length': tokens('Prompt length', `mean over ${prompts}`, 'Tokens per prompt, including the template.'),
	'prompts/min_length': tokens(
		'Shortest prompt',
		`min over the ${prompts}`,
		'Number of tokens in the shortest prompt.',
	),
	'prompts/max_length': tokens('Longest prompt', `max over the ${prompts}`, 'Number of tokens in the longest prompt.'),
	'prompts/clipped_ratio': {
		title: 'Prompts at the limit',
		unit: 'share',
		group: 'lengths',
		better: 'down',
		over: `fraction of the ${prompts}`,
		explanation: 'Prompts that reach the length limit and might have been truncated.',
		healthy: 'close to 0',
	},
};
