import type { MetricPair, PairPoints } from '../lib/charts/metricPairCard.ts';
import { pairPoints, stepsOf } from '../lib/charts/pairPoints.ts';
import type { ComparisonModel } from './comparisonModel.ts';

/** Returns the points of the visible runs that have both metrics. */
export function pairAcrossRuns(
	model: Pick<ComparisonModel, 'runs' | 'points' | 'hidden'>,
	{ x, y }: MetricPair,
): PairPoints {
	const series = model.points.flatMap(({ names, values, step, rowsPerPoint }, run) => {
		const [across, up] = [values[names.indexOf(x)], values[names.indexOf(y)]];
		if (across === undefined || up === undefined || model.hidden.has(run)) return [];
		const points = pairPoints(across, up, 0, step.length);
		if (points.x.length === 0) return [];
		return [
			{
				label: model.runs[run]?.name ?? '',
				color: run,
				x: points.x,
				y: points.y,
				// In a run with many rows, each point is already a mean over several steps, and only the last step is known.
				...(rowsPerPoint === 1 ? { names: stepsOf(points, step) } : {}),
			},
		];
	});
	return { series, note: series.length > 0 ? '' : 'No run has both metrics at the same step.' };
}
