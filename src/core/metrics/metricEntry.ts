import type { BetterWay, MetricContext, MetricGroup, MetricUnit } from './metricInfo.ts';

/** A catalog entry: one metric with a fixed name. */
export interface MetricEntry {
	readonly title: string;
	readonly unit: MetricUnit;
	readonly group: MetricGroup;
	readonly better: BetterWay | null;
	readonly over: string;
	readonly explanation: string | ((context: MetricContext) => string);
	/** The range in healthy runs, in words. */
	readonly healthy?: string;
	/** What a rise usually means. */
	readonly rises?: string;
	/** What a fall usually means. */
	readonly falls?: string;
	readonly logScale?: boolean;
}

export const batch = 'completions of the generation batch';
export const update = 'completion tokens of the update, including those without advantage';
