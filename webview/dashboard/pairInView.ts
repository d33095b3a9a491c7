import { formatCounted } from '../../src/base/format.ts';
import type { MetricTable } from '../../src/core/metrics/metricTable.ts';
import type { MetricPair, PairPoints } from '../lib/charts/metricPairCard.ts';
import { pairPoints, stepsOf } from '../lib/charts/pairPoints.ts';
import type { PlotLink } from '../lib/charts/plotLink.ts';
import { lowerBound } from '../lib/charts/rowRange.ts';

/** Returns the points for a run's visible steps. */
export function pairInView(
	table: MetricTable,
	{ x: places, range }: Pick<PlotLink, 'x' | 'range'>,
	{ x, y }: MetricPair,
): PairPoints {
	const [across, up] = [table.column(x), table.column(y)];
	if (across === undefined || up === undefined) return { series: [], note: 'The run does not have both metrics.' };
	const from = range === null ? 0 : lowerBound(places, range.min);
	let to = range === null ? table.length : lowerBound(places, range.max);
	if (range !== null && places[to] === range.max) to++;
	const points = pairPoints(across, up, from, to);
	if (points.x.length === 0) return { series: [], note: 'No visible step has both metrics.' };
	const { rowsPerPoint } = points;
	return {
		series: [{ label: '', color: 0, x: points.x, y: points.y, names: stepsOf(points, table.step) }],
		note: rowsPerPoint === 1 ? '' : `Each point is the mean of ${formatCounted(rowsPerPoint, 'step')}.`,
	};
}
