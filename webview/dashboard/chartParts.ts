import { describeMetric } from '../../src/core/metrics/catalog.ts';
import { type ChartBand, type ChartLine, type ChartSpec, unitLabels } from '../lib/charts/chartSpec.ts';
import type { MetricPair } from '../lib/charts/metricPairCard.ts';

/** Group of charts. */
export interface ChartGroup {
	readonly id: string;
	readonly title: string;
	readonly charts: readonly ChartSpec[];
	/** Charts of one metric against another, below the other charts. */
	readonly pairs?: readonly MetricPair[];
}

/** Metric names in a run; each is assigned to one chart. */
export class Names {
	readonly #all: ReadonlySet<string>;
	readonly #left: Set<string>;

	constructor(names: readonly string[]) {
		this.#all = new Set(names);
		this.#left = new Set(names);
	}

	has(name: string): boolean {
		return this.#all.has(name);
	}

	/** Takes the given names if present. */
	take(...names: readonly string[]): string[] {
		return names.filter((name) => this.#left.delete(name));
	}

	/** Takes all unassigned names that match, in recording order. */
	match(pattern: RegExp): string[] {
		return this.take(...[...this.#left].filter((name) => pattern.test(name)));
	}
}

export const lineOf = (metric: string, color: number): ChartLine => ({
	metric,
	label: describeMetric(metric).title,
	color,
});

export type ChartOptions = Partial<Pick<ChartSpec, 'bands' | 'kind' | 'size' | 'span'>>;

/** Creates a line chart; returns none if there are no lines. */
export function chart(id: string, title: string, lines: readonly ChartLine[], options: ChartOptions = {}): ChartSpec[] {
	const first = lines[0];
	if (!first) return [];
	const { unit } = describeMetric(first.metric);
	const bands: readonly ChartBand[] = options.bands ?? [];
	return [{ ...options, id, title, kind: options.kind ?? 'lines', lines, bands, unit, unitLabel: unitLabels[unit] }];
}

/** Creates a chart for a metric, if the run has it. */
export function single(names: Names, metric: string, title = describeMetric(metric).title): ChartSpec[] {
	return together(metric, title, names.take(metric));
}

/** Creates one chart for several metrics. */
export function together(id: string, title: string, metrics: readonly string[]): ChartSpec[] {
	return chart(id, title, metrics.map(lineOf));
}

/** Creates a chart for each unassigned name that matches. */
export function each(names: Names, pattern: RegExp): ChartSpec[] {
	return names.match(pattern).flatMap((name) => chart(name, describeMetric(name).title, [lineOf(name, 0)]));
}
