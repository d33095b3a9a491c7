import { describeMetric } from '../../src/core/metrics/catalog.ts';
import { type MetricGroup, metricGroupTitles } from '../../src/core/metrics/metricInfo.ts';
import type { ChartBand, ChartLine, ChartSpec } from '../lib/charts/chartSpec.ts';
import { type ChartGroup, chart, each, lineOf, Names, single, together } from './chartParts.ts';
import { deviceCharts } from './deviceCharts.ts';
import { preferenceCharts } from './preferenceCharts.ts';

/**
 * Returns the charts for a run's metrics. Unknown metrics are listed under "Other" with their original names.
 *
 * @param own whether the run was written by one of our engines
 */
export function chartsOf(metrics: readonly string[], own = false): ChartGroup[] {
	const names = new Names(metrics);
	// The head charts must come first, to claim their evaluation metrics.
	const heads = headCharts(names);
	const preferences = preferenceCharts(names, own);
	const optimizer = optimizerCharts(names);
	const policy = policyCharts(names);
	const groups: ChartGroup[] = [
		{ id: 'reward', title: 'Reward and accuracy', charts: rewardCharts(names) },
		{ id: 'heads', title: metricGroupTitles.heads, charts: heads },
		{ id: 'preferences', title: metricGroupTitles.preferences, charts: preferences },
		{ id: 'policy', title: metricGroupTitles.policy, charts: policy },
		{ id: 'lengths', title: 'Completions', charts: completionCharts(names) },
		{ id: 'environment', title: metricGroupTitles.environment, charts: environmentCharts(names) },
		{ id: 'optimizer', title: metricGroupTitles.optimizer, charts: optimizer },
		{ id: 'speed', title: metricGroupTitles.time, charts: [...phaseCharts(names), ...speedCharts(names)] },
		{ id: 'devices', title: metricGroupTitles.devices, charts: deviceCharts(names) },
	];
	// Assign the remaining catalog metrics to groups by type.
	const rest = Map.groupBy(each(names, /^/), (spec) => sectionOf(spec.id));
	const whole = groups.map((group) => ({ ...group, charts: [...group.charts, ...(rest.get(group.id) ?? [])] }));
	whole.push({ id: 'other', title: metricGroupTitles.other, charts: rest.get('other') ?? [] });
	return whole.filter((group) => group.charts.length > 0);
}

const sections: Partial<Record<MetricGroup, string>> = {
	reward: 'reward',
	evaluation: 'reward',
	heads: 'heads',
	preferences: 'preferences',
	policy: 'policy',
	clipping: 'policy',
	lengths: 'lengths',
	environment: 'environment',
	optimizer: 'optimizer',
	speed: 'speed',
	devices: 'devices',
};

function sectionOf(metric: string): string {
	return sections[describeMetric(metric).group] ?? 'other';
}

/** Combines related training and held-out metrics in one chart. */
function headCharts(names: Names): ChartSpec[] {
	return [
		...together('head-values', 'Values vs. labels', names.take('head/value', 'head/label', 'head/outcome')),
		...together('head-uncertainty', 'Step uncertainty', names.take('head/uncertainty_labeled', 'head/uncertainty')),
		...together('head-auc', 'Head AUC', names.take('eval/head/auc', 'eval/head/whole_auc')),
		...together('head-brier', 'Head Brier score', names.take('eval/head/brier', 'head/brier')),
		...single(names, 'eval/head/loss'),
		...single(names, 'eval/head/calibration_error'),
	];
}

function rewardCharts(names: Names): ChartSpec[] {
	const [reward] = names.take('reward');
	const [deviation] = reward ? names.take('reward_std') : [];
	const bands: ChartBand[] =
		reward && deviation ? [{ kind: 'spread', of: reward, by: deviation, label: '\u00b11 SD', color: 0 }] : [];
	const total = chart('reward', 'Reward', reward ? [lineOf(reward, 0)] : [], { bands });
	const components = names.match(/^rewards\/.+\/mean$/s);
	const deviations = names.match(/^rewards\/.+\/std$/s);
	const componentBands = components.flatMap((of, i): ChartBand[] => {
		const by = of.replace(/mean$/, 'std');
		if (!deviations.includes(by)) return [];
		// Hide bands by default if there are several, because they would cover each other and the lines.
		const label = components.length > 1 ? `\u00b1 ${describeMetric(of).title}` : '\u00b11 SD';
		return [{ kind: 'spread', of, by, label, color: i + 1, initiallyHidden: components.length > 1 }];
	});
	const parts = chart(
		'rewards',
		'Reward components',
		components.map((name, i) => lineOf(name, i + 1)),
		{ bands: componentBands },
	);
	const lone = deviations.filter((name) => !components.includes(name.replace(/std$/, 'mean')));
	return [
		...total,
		...parts,
		...evaluationCharts(names),
		...single(names, 'groups/dead'),
		...single(names, 'frac_reward_zero_std'),
		...together('reward-range', 'Reward min and max', names.take('reward_max', 'reward_min')),
		...together('deviations', 'Component SD', lone),
	];
}

function evaluationCharts(names: Names): ChartSpec[] {
	const accuracies = names.match(/^eval\/[^/]+\/accuracy$|^eval\/accuracy$/);
	const bands = accuracies.flatMap((of, i): ChartBand[] => {
		const [low] = names.take(`${of}_low`);
		const [high] = names.take(`${of}_high`);
		if (!low || !high) return [];
		return [{ kind: 'between', of, low, high, label: '95% interval', color: i + 2 }];
	});
	const held = chart(
		'accuracy',
		'Held-out accuracy',
		accuracies.map((name, i) => lineOf(name, i + 2)),
		{ bands },
	);
	return [...held, ...each(names, /^eval\//)];
}

function policyCharts(names: Names): ChartSpec[] {
	return [
		...single(names, 'kl', 'KL to reference'),
		...together('entropy', 'Entropy', names.take('entropy', 'eval/entropy')),
		...chart('clip_ratio', 'Clip ratios', [
			...names.take(...['region', 'low', 'high'].map((part) => `clip_ratio/${part}_mean`)).map(lineOf),
			...names
				.take('clip_ratio/low_min', 'clip_ratio/high_max')
				.map((name, i) => ({ ...lineOf(name, i + 3), initiallyHidden: true })),
			...names.take('cispo_clip_ratio').map((name) => lineOf(name, 5)),
		]),
		...single(names, 'vespo/phi_seq_mean'),
		...together(
			'sampling',
			'Sampler/trainer log-prob difference',
			names.match(/^sampling\/sampling_logp_difference\//),
		),
	];
}

function completionCharts(names: Names): ChartSpec[] {
	const lengths = (part: string, color: number): { lines: ChartLine[]; bands: ChartBand[] } => {
		const [mean] = names.take(`completions/mean_${part}`);
		const [low] = names.take(`completions/min_${part}`);
		const [high] = names.take(`completions/max_${part}`);
		if (!mean) return { lines: [low, high].flatMap((name) => (name ? [lineOf(name, color)] : [])), bands: [] };
		const bands: ChartBand[] =
			low && high ? [{ kind: 'between', of: mean, low, high, label: 'min to max', color }] : [];
		return { lines: [lineOf(mean, color)], bands };
	};
	const all = lengths('length', 0);
	const ended = lengths('terminated_length', 2);
	return [
		...chart('lengths', 'Completion length', all.lines, { bands: all.bands }),
		...chart('terminated', 'Completed-response length', ended.lines, { bands: ended.bands }),
		...single(names, 'completions/clipped_ratio'),
		...each(names, /^completions\//),
	];
}

function environmentCharts(names: Names): ChartSpec[] {
	return [
		...single(names, 'environment/turns'),
		...single(names, 'tools/call_frequency'),
		...single(names, 'tools/failure_frequency'),
		...single(names, 'environment/seconds'),
		...together('environment-failures', 'Failed episodes', names.take('environment/failed', 'environment/timeouts')),
	];
}

function optimizerCharts(names: Names): ChartSpec[] {
	return [
		...together('loss', 'Loss', names.take('loss', 'eval/loss')),
		...together('mean_token_accuracy', 'Token accuracy', names.take('mean_token_accuracy', 'eval/mean_token_accuracy')),
		...single(names, 'grad_norm'),
		...single(names, 'learning_rate'),
		...['policy_loss', 'entropy_coef', 'aux_loss'].flatMap((name) => single(names, name)),
	];
}

/** Phases of a step in order, with fixed colors. Phases that share a color never occur in the same run. */
const phaseColors: Readonly<Record<string, number>> = {
	'time/data': 7,
	'time/generate': 0,
	'time/environment': 7,
	'time/reward': 1,
	'time/logprobs': 2,
	'time/reference': 7,
	'time/advantages': 4,
	'time/update': 3,
	'time/weights': 4,
	'time/sync': 4,
	'time/checkpoint': 5,
	'time/evaluate': 6,
	'time/other': 7,
};

function phaseCharts(names: Names): ChartSpec[] {
	const phases = [...names.take(...Object.keys(phaseColors)), ...names.match(/^time\//)];
	const lines = phases.map((name, i) => lineOf(name, phaseColors[name] ?? i));
	return chart('phases', 'Time per phase', lines, { kind: 'stack' });
}

function speedCharts(names: Names): ChartSpec[] {
	const bytes = names.take('gpu/bytes_up', 'gpu/bytes_down').map((name, i) => lineOf(name, i));
	return [
		...each(names, /^throughput\//),
		...single(names, 'step_time'),
		...single(names, 'num_tokens'),
		...chart('device-bytes', 'Bytes to and from the device', bytes),
		...single(names, 'gpu/dispatches'),
	];
}

/** Returns whether all words in a filter occur in a chart's title or metric names. */
export function matchesFilter(spec: ChartSpec, filter: string): boolean {
	const texts = [
		spec.title,
		...spec.lines.flatMap((line) => [line.metric, line.label]),
		...spec.bands.flatMap((band) => (band.kind === 'between' ? [band.low, band.high] : [band.by])),
	];
	return containsWords(texts, filter);
}

/** Returns whether all words in a filter occur in the given texts. */
export function containsWords(texts: readonly string[], filter: string): boolean {
	const text = texts.join('\n').toLowerCase();
	return filter
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word));
}

/** Returns the columns shown in a chart, lines first. */
export function metricsOf(spec: ChartSpec): string[] {
	return [
		...new Set([
			...spec.lines.map((line) => line.metric),
			...spec.bands.flatMap((band) => (band.kind === 'between' ? [band.low, band.high] : [band.by])),
		]),
	];
}
