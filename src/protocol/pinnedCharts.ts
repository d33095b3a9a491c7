import * as v from 'valibot';

const metricName = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));

/** A chart pinned to the top of comparisons and dashboards: a metric against the step or another metric. */
export const pinnedChartSchema = v.object({ x: v.nullable(metricName), y: metricName });
export type PinnedChart = v.InferOutput<typeof pinnedChartSchema>;

export const maxPinned = 40;
export const pinnedChartsSchema = v.pipe(v.array(pinnedChartSchema), v.maxLength(maxPinned));
