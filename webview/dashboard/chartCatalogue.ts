import { describeMetric } from '../../src/core/metrics/catalogue.ts';
import { type MetricUnit, metricGroupTitles } from '../../src/core/metrics/metricInfo.ts';
import type { ChartBand, ChartLine, ChartSpec } from '../lib/charts/chartSpec.ts';

export interface ChartGroup {
	readonly id: string;
	readonly title: string;
	readonly charts: readonly ChartSpec[];
}

const unitLabels: Readonly<Record<MetricUnit, string>> = {
	number: '',
	share: '',
	seconds: 's',
	tokens: 'tokens',
	nats: 'nats',
	// Their titles say it.
	rate: '',
};

/** Names of a run's metrics, each to be put into one chart. */
class Names {
	readonly #all: ReadonlySet<string>;
	readonly #left: Set<string>;

	constructor(names: readonly string[]) {
		this.#all = new Set(names);
		this.#left = new Set(names);
	}

	has(name: string): boolean {
		return this.#all.has(name);
	}

	/** These names, if they are there; they are then placed. */
	take(...names: readonly string[]): string[] {
		return names.filter((name) => this.#left.delete(name));
	}

	/** All that match and are not placed yet, in the order in which they were written first. */
	match(pattern: RegExp): string[] {
		return this.take(...[...this.#left].filter((name) => pattern.test(name)));
	}
}

const lineOf = (metric: string, colour: number): ChartLine => ({ metric, label: describeMetric(metric).title, colour });

function chart(
	id: string,
	title: string,
	lines: readonly ChartLine[],
	options: { readonly bands?: readonly ChartBand[]; readonly kind?: ChartSpec['kind'] } = {},
): ChartSpec[] {
	const first = lines[0];
	if (!first) return [];
	const { unit } = describeMetric(first.metric);
	return [
		{
			id,
			title,
			kind: options.kind ?? 'lines',
			lines,
			bands: options.bands ?? [],
			unit,
			unitLabel: unitLabels[unit],
		},
	];
}

/** A chart of one metric, if the run has it. */
function single(names: Names, metric: string, title = describeMetric(metric).title): ChartSpec[] {
	return together(metric, title, names.take(metric));
}

function together(id: string, title: string, metrics: readonly string[]): ChartSpec[] {
	return chart(id, title, metrics.map(lineOf));
}

/** A chart for each metric that matches and is not placed yet. */
function each(names: Names, pattern: RegExp): ChartSpec[] {
	return names.match(pattern).flatMap((name) => chart(name, describeMetric(name).title, [lineOf(name, 0)]));
}

/** The charts of a run: those whose metrics it has. A metric that nobody knows stands under "Other", by its own name. */
export function chartsOf(metrics: readonly string[]): ChartGroup[] {
	const names = new Names(metrics);
	const groups: ChartGroup[] = [
		{ id: 'reward', title: 'Reward and accuracy', charts: rewardCharts(names) },
		{ id: 'heads', title: metricGroupTitles.heads, charts: headCharts(names) },
		{ id: 'policy', title: metricGroupTitles.policy, charts: policyCharts(names) },
		{ id: 'lengths', title: 'Completions', charts: completionCharts(names) },
		{ id: 'optimiser', title: metricGroupTitles.optimiser, charts: optimiserCharts(names) },
		{ id: 'speed', title: metricGroupTitles.speed, charts: speedCharts(names) },
	];
	groups.push({
		id: 'other',
		title: metricGroupTitles.other,
		charts: each(names, /^/),
	});
	return groups.filter((group) => group.charts.length > 0);
}

/** Training and held-out measures of a kind are one chart. */
function headCharts(names: Names): ChartSpec[] {
	return [
		...together('head-values', 'Values and labels', names.take('head/value', 'head/label', 'head/outcome')),
		...together('head-auc', 'AUC of the head', names.take('eval/head/auc', 'eval/head/whole_auc')),
		...together('head-brier', 'Brier score of the head', names.take('eval/head/brier', 'head/brier')),
		...single(names, 'eval/head/loss'),
		...single(names, 'eval/head/calibration_error'),
	];
}

function rewardCharts(names: Names): ChartSpec[] {
	const [reward] = names.take('reward');
	const [deviation] = reward ? names.take('reward_std') : [];
	const bands: ChartBand[] =
		reward && deviation ? [{ kind: 'spread', of: reward, by: deviation, label: '\u00b1 1 deviation', colour: 0 }] : [];
	const total = chart('reward', 'Reward', reward ? [lineOf(reward, 0)] : [], { bands });
	const components = names.match(/^rewards\/.+\/mean$/s);
	const deviations = names.match(/^rewards\/.+\/std$/s);
	const componentBands = components.flatMap((of, i): ChartBand[] => {
		const by = of.replace(/mean$/, 'std');
		if (!deviations.includes(by)) return [];
		// Several bands hide each other and the lines: one at a time, for those who ask.
		const label = components.length > 1 ? `\u00b1 ${describeMetric(of).title}` : '\u00b1 1 deviation';
		return [{ kind: 'spread', of, by, label, colour: i + 1, initiallyHidden: components.length > 1 }];
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
		...single(names, 'frac_reward_zero_std'),
		...together('deviations', 'Deviation of components', lone),
	];
}

function evaluationCharts(names: Names): ChartSpec[] {
	const accuracies = names.match(/^eval\/[^/]+\/accuracy$|^eval\/accuracy$/);
	const bands = accuracies.flatMap((of, i): ChartBand[] => {
		const [low] = names.take(`${of}_low`);
		const [high] = names.take(`${of}_high`);
		if (!low || !high) return [];
		return [{ kind: 'between', of, low, high, label: '95 % interval', colour: i + 2 }];
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
		...single(names, 'kl', 'KL to the reference'),
		...single(names, 'entropy'),
		...chart('clip_ratio', 'Clip ratios', [
			...names.take(...['region', 'low', 'high'].map((part) => `clip_ratio/${part}_mean`)).map(lineOf),
			...names
				.take('clip_ratio/low_min', 'clip_ratio/high_max')
				.map((name, i) => ({ ...lineOf(name, i + 3), initiallyHidden: true })),
		]),
		...together('sampling', 'Sampler difference', names.match(/^sampling\/sampling_logp_difference\//)),
	];
}

function completionCharts(names: Names): ChartSpec[] {
	const lengths = (part: string, colour: number): { lines: ChartLine[]; bands: ChartBand[] } => {
		const [mean] = names.take(`completions/mean_${part}`);
		const [low] = names.take(`completions/min_${part}`);
		const [high] = names.take(`completions/max_${part}`);
		if (!mean) return { lines: [low, high].flatMap((name) => (name ? [lineOf(name, colour)] : [])), bands: [] };
		const bands: ChartBand[] =
			low && high ? [{ kind: 'between', of: mean, low, high, label: 'shortest to longest', colour }] : [];
		return { lines: [lineOf(mean, colour)], bands };
	};
	const all = lengths('length', 0);
	const ended = lengths('terminated_length', 2);
	return [
		...chart('lengths', 'Completion length', all.lines, { bands: all.bands }),
		...chart('terminated', 'Length of ended completions', ended.lines, { bands: ended.bands }),
		...single(names, 'completions/clipped_ratio'),
		...each(names, /^completions\//),
	];
}

function optimiserCharts(names: Names): ChartSpec[] {
	return [...single(names, 'loss'), ...single(names, 'grad_norm'), ...single(names, 'learning_rate')];
}

function speedCharts(names: Names): ChartSpec[] {
	const phases = names.match(/^time\//);
	return [
		...chart(
			'phases',
			'Time per phase',
			phases.map((name, i) => lineOf(name, i)),
			{ kind: 'stack' },
		),
		...each(names, /^throughput\//),
		...single(names, 'step_time'),
		...single(names, 'num_tokens'),
	];
}

/** Words of a filter must all occur in a chart's title or in the names of its metrics. */
export function matchesFilter(spec: ChartSpec, filter: string): boolean {
	const text = [
		spec.title,
		...spec.lines.flatMap((line) => [line.metric, line.label]),
		...spec.bands.flatMap((band) => (band.kind === 'between' ? [band.low, band.high] : [band.by])),
	]
		.join('\n')
		.toLowerCase();
	return filter
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word));
}

/** Columns that a chart shows, lines first. */
export function metricsOf(spec: ChartSpec): string[] {
	return [
		...new Set([
			...spec.lines.map((line) => line.metric),
			...spec.bands.flatMap((band) => (band.kind === 'between' ? [band.low, band.high] : [band.by])),
		]),
	];
}
