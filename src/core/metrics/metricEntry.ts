import type { BetterWay, MetricContext, MetricGroup, MetricUnit } from './metricInfo.ts';

/** A catalog entry for a metric with a fixed name. */
export interface MetricEntry {
	readonly title: string;
	readonly unit: MetricUnit;
	readonly group: MetricGroup;
	readonly better: BetterWay | null;
	readonly over: string;
	readonly explanation: string | ((context: MetricContext) => string);
	/** Description of the range in healthy runs. */
	readonly healthy?: string;
	/** Usual meaning of a rise. */
	readonly rises?: string;
	/** Usual meaning of a fall. */
	readonly falls?: string;
	readonly logScale?: boolean;
}

export const batch = 'completions in the generation batch';
export const update = 'completion tokens in the update, including those without an advantage';
