import { highOf, lowOf } from '../../src/core/comparison/seedGroups.ts';
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

/** Returns the chart specification for one metric: a line per run, and a line with a band per mean. */
export function curveSpec(metric: string, model: ComparisonModel): ChartSpec {
	const info = describeMetric(metric);
	const lines = model.linesWith(metric);
	return {
		id: metric,
		title: plainLabel(info.title, 120),
		kind: 'lines',
		lines: lines.map((line) => ({
			metric: columnKey(line, metric),
			label: lineLabel(model, line),
			color: model.membersOf(line)[0] ?? line,
		})),
		bands: lines
			.filter((line) => line >= model.runs.length)
			.map((line) => ({
				kind: 'between',
				low: columnKey(line, lowOf(metric)),
				high: columnKey(line, highOf(metric)),
				of: columnKey(line, metric),
				label: '±1 SD',
				color: model.membersOf(line)[0] ?? line,
			})),
		unit: info.unit,
		unitLabel: unitLabels[info.unit],
	};
}

/** Returns the name of a line: its run or, for a mean, the first of the averaged runs. */
export function lineLabel(model: ComparisonModel, line: number): string {
	const members = model.membersOf(line);
	const name = plainLabel(model.runs[members[0] ?? line]?.name ?? '', 80);
	return members.length > 1 ? `${name}, mean of ${members.length} seeds` : name;
}
