import { advantageKinds } from '../../src/core/grpo/advantages/advantageSettings.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import { type MetricContext, type MetricInfo, stageTypes } from '../../src/core/metrics/metricInfo.ts';
import type { DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import { type LossType, lossTypes } from '../../src/protocol/recipeKeys/lossTypes.ts';
import type { ChartSpec } from '../lib/charts/chartSpec.ts';
import type { Explanation } from '../lib/tooltip.ts';
import { metricsOf } from './chartCatalog.ts';

/** Returns a metric's context: the stage with the given name, or the latest stage. */
export function metricContext(run: DashboardRun | null, stageName: string | undefined): MetricContext {
	const name = stageName ?? run?.stage;
	const stage = run?.stages.find((s) => s.name === name);
	const type = stage?.type ?? name;
	return {
		stage: stageTypes.find((one) => one === type) ?? null,
		lossType: lossTypes.find((known): known is LossType => known === stage?.lossType) ?? null,
		beta: stage?.beta ?? null,
		advantages: advantageKinds.find((known) => known === stage?.advantages) ?? null,
		updatesPerBatch: stage?.updatesPerBatch ?? null,
		format: run?.format ?? null,
	};
}

const unitWords = {
	number: null,
	share: 'share, 0 to 1',
	seconds: 'seconds',
	tokens: 'tokens',
	nats: 'nats',
	rate: 'per second',
	bytes: 'bytes',
	celsius: '°C',
	watts: 'W',
} as const;

export function explainMetric(name: string, context: MetricContext): Explanation {
	const info = describeMetric(name, context);
	const unit = unitWords[info.unit];
	return {
		title: info.title,
		...(info.title === name ? {} : { name }),
		paragraphs: [info.explanation],
		facts: [
			...(unit === null ? [] : ([['Unit', unit]] as const)),
			['Measured over', info.over],
			...(info.healthy === null ? [] : ([['Healthy', info.healthy]] as const)),
			...(info.rises === null ? [] : ([['Rising', info.rises]] as const)),
			...(info.falls === null ? [] : ([['Falling', info.falls]] as const)),
			...ownFacts(info),
			...(context.stage === 'grpo' && name === 'loss' && context.lossType
				? ([['loss_type', context.lossType]] as const)
				: []),
		],
	};
}

/** Returns the metric's name in the trainer that wrote the run, and differences in its definition. */
function ownFacts({ own, name }: MetricInfo): (readonly [string, string])[] {
	if (own === null) return [];
	const { trainer, names, differs, akinTo } = own;
	const known = names.filter((one) => one !== name);
	return [
		...(akinTo === null && known.length > 0 ? ([[`In ${trainer}`, known.join(', ')]] as const) : []),
		...(differs.length > 0 ? ([[`Differs in ${trainer}`, differs.join(' ')]] as const) : []),
	];
}

/** Explains a chart: a single metric in full, or several metrics with one line each. */
export function explainChart(spec: ChartSpec, context: MetricContext): Explanation {
	const [only, ...more] = spec.lines;
	const about = only ? explainMetric(only.metric, context) : null;
	const bands = [...new Set(spec.bands.map((band) => band.label))];
	const shaded = bands.length > 0 ? [`Shaded: ${bands.join(', ')}.`] : [];
	if (about && more.length === 0) {
		return { ...about, title: spec.title, paragraphs: [...about.paragraphs, ...shaded] };
	}
	return {
		title: spec.title,
		paragraphs: [
			...(spec.kind === 'stack' ? ['The values are stacked, so the top edge is the total.'] : []),
			...shaded,
		],
		facts: metricsOf(spec)
			.filter((name) => spec.lines.some((line) => line.metric === name))
			.slice(0, 12)
			.map((name) => {
				const info = describeMetric(name, context);
				return [info.title, info.explanation] as const;
			}),
	};
}
