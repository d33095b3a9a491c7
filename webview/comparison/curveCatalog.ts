import { describeMetric, metricNames } from '../../src/core/metrics/catalog.ts';
import { type MetricGroup, metricGroups, metricGroupTitles } from '../../src/core/metrics/metricInfo.ts';
import { type ChartSpec, unitLabels } from '../lib/charts/chartSpec.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { type ComparisonModel, columnKey } from './comparisonModel.ts';

export interface CurveGroup {
	readonly id: MetricGroup;
	readonly title: string;
	readonly metrics: readonly string[];
}

/** Groups the metrics that match a filter: catalog metrics in catalog order, then other metrics by name. */
export function groupMetrics(metrics: readonly string[], filter: string): CurveGroup[] {
	const wanted = filter.trim().toLowerCase();
	const order = new Map(metricNames.map((name, i) => [name, i]));
	const rank = (name: string): number => order.get(name) ?? metricNames.length;
	const shown = metrics
		.filter((name) => {
			if (wanted === '') return true;
			return name.toLowerCase().includes(wanted) || describeMetric(name).title.toLowerCase().includes(wanted);
		})
		.toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
	const groups = Map.groupBy(shown, (name) => describeMetric(name).group);
	return metricGroups.flatMap((id) => {
		const names = groups.get(id);
		return names === undefined ? [] : [{ id, title: metricGroupTitles[id], metrics: names }];
	});
}

/** Returns the chart specification for one metric, with a line per run. */
export function curveSpec(metric: string, model: ComparisonModel): ChartSpec {
	const info = describeMetric(metric);
	return {
		id: metric,
		title: plainLabel(info.title, 120),
		kind: 'lines',
		lines: model.runsWith(metric).map((run) => ({
			metric: columnKey(run, metric),
			label: plainLabel(model.runs[run]?.name ?? '', 80),
			color: run,
		})),
		bands: [],
		unit: info.unit,
		unitLabel: unitLabels[info.unit],
	};
}
