import type { BetterWay, MetricContext, MetricGroup, MetricUnit } from './metricInfo.ts';

/** A row of the catalog: one metric under a fixed name. */
export interface MetricEntry {
	readonly title: string;
	readonly unit: MetricUnit;
	readonly group: MetricGroup;
	readonly better: BetterWay | null;
	readonly over: string;
	readonly explanation: string | ((context: MetricContext) => string);
	/** Where it lies in runs that go well, in words. */
	readonly healthy?: string;
	/** What it usually means when it rises. */
	readonly rises?: string;
	/** What it usually means when it falls. */
	readonly falls?: string;
	readonly logScale?: boolean;
}

export const batch = 'completions of the generation batch';
export const update = 'completion tokens of the update, including those without advantage';
