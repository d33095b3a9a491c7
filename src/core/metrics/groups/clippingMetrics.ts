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
		`share of ${update}`,
		'Tokens with negative advantage whose ratio fell below 1 - epsilon, so that they no longer count in the gradient. 0 at the first update of a batch.',
		{ healthy: '0 with one update per batch; below 0.1 otherwise', rises: 'Bad tokens are pushed down fast.' },
	),
	'clip_ratio/low_min': entry(
		'Clip ratio low (min)',
		'smallest share of one completion of the update',
		'The completion with the fewest tokens clipped below.',
	),
	'clip_ratio/high_mean': entry(
		'Clip ratio high',
		`share of ${update}`,
		'Tokens with positive advantage whose ratio rose above 1 + epsilon_high, so that they no longer count in the gradient. 0 at the first update of a batch.',
		{
			healthy: '0 with one update per batch; below 0.1 otherwise',
			rises: 'Rare tokens that paid off are held back: a higher epsilon_high lets them grow (DAPO).',
		},
	),
	'clip_ratio/high_max': entry(
		'Clip ratio high (max)',
		'largest share of one completion of the update',
		'The completion with the most tokens clipped above.',
	),
	'clip_ratio/region_mean': entry(
		'Clipped',
		`share of ${update}`,
		'Tokens clipped on either side. A large share means that the batch is used up: fewer iterations or a lower learning rate.',
		{
			healthy: '0 with one update per batch; below 0.2 otherwise',
			rises: 'The batch is used up before its last update: fewer iterations or a lower learning rate.',
		},
	),
	cispo_clip_ratio: entry(
		'Clipped weights',
		`share of ${update}`,
		'loss_type cispo: tokens with positive advantage whose weight, the ratio, was cut off at epsilon_high. They still count in the gradient.',
		{ healthy: '0 with one update per batch; below 0.1 otherwise' },
	),
	'vespo/phi_seq_mean': entry(
		'Weight of sequences',
		'mean over completions of the update',
		'loss_type vespo: the smooth weight, a function of the ratio of whole sequences, that takes the place of clipping.',
		{ unit: 'number', falls: 'Sequences have moved far from who sampled them and count less.' },
	),
};
