import { type MetricEntry, update } from '../metricEntry.ts';

const entry = (title: string, over: string, explanation: string, more: Partial<MetricEntry> = {}): MetricEntry => ({
	title,
	unit: 'share',
	group: 'clipping',
	better: null,
	over,
	explanation,
	...more,
});

export const clippingMetrics: Readonly<Record<string, MetricEntry>> = {
	'clip_ratio/low_mean': entry(
		'Clip ratio low',
		`fraction of ${update}`,
		'Tokens with a negative advantage whose ratio fell below 1 - epsilon. They no longer contribute to the gradient. 0 on the first update of a batch.',
		{ healthy: '0 with one update per batch; below 0.1 otherwise', rises: 'Bad tokens are being suppressed quickly.' },
	),
	'clip_ratio/low_min': entry(
		'Clip ratio low (min)',
		'min over completions in the update',
		'Completion with the smallest fraction of tokens clipped at the lower bound.',
	),
	'clip_ratio/high_mean': entry(
		'Clip ratio high',
		`fraction of ${update}`,
		'Tokens with a positive advantage whose ratio rose above 1 + epsilon_high. They no longer contribute to the gradient. 0 on the first update of a batch.',
		{
			healthy: '0 with one update per batch; below 0.1 otherwise',
			rises:
				'Rare tokens with high advantages are held back; a higher epsilon_high lets their probability grow (DAPO).',
		},
	),
	'clip_ratio/high_max': entry(
		'Clip ratio high (max)',
		'max over completions in the update',
		'Completion with the largest fraction of tokens clipped at the upper bound.',
	),
	'clip_ratio/region_mean': entry(
		'Clipped',
		`fraction of ${update}`,
		'Tokens clipped at either bound. A large fraction means that the batch is exhausted: use fewer iterations or a lower learning rate.',
		{
			healthy: '0 with one update per batch; below 0.2 otherwise',
			rises: 'The batch is exhausted before its last update: use fewer iterations or a lower learning rate.',
		},
	),
	cispo_clip_ratio: entry(
		'Clipped weights',
		`fraction of ${update}`,
		'With loss_type cispo: tokens with a positive advantage whose weight (the ratio) was truncated at epsilon_high. They still contribute to the gradient.',
		{ healthy: '0 with one update per batch; below 0.1 otherwise' },
	),
	'tokens/selected': entry(
		'Selected tokens',
		'fraction of the completion tokens in the update',
		'With top_entropy_quantile or clip_cov_ratio: tokens for which the policy loss is computed. The KL term applies to all tokens.',
	),
	'vespo/phi_seq_mean': entry(
		'Sequence weight',
		'mean over completions in the update',
		'With loss_type vespo: smooth weight based on the sequence-level ratio, which replaces clipping.',
		{ unit: 'number', falls: 'The policy has moved far from the sampling policy, so sequences are down-weighted.' },
	),
};
