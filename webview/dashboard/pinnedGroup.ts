import type { PinnedChart } from '../../src/protocol/pinnedCharts.ts';
import { metricsOf } from './chartCatalog.ts';
import type { ChartGroup } from './chartParts.ts';

export const pinnedGroup = 'pinned';

/**
 * Moves the charts with a pinned metric to a group at the top, in the order they were pinned, followed by the pinned
 * metric-pair charts whose metrics the run has.
 */
export function withPinned(groups: readonly ChartGroup[], pinned: readonly PinnedChart[]): ChartGroup[] {
	const all = groups.flatMap(({ charts }) => charts);
	const has = (name: string) => all.some((spec) => metricsOf(spec).includes(name));
	const wanted = pinned.flatMap(({ x, y }) => (x === null ? all.filter((spec) => metricsOf(spec).includes(y)) : []));
	const pairs = pinned.flatMap(({ x, y }) => (x !== null && has(x) && has(y) ? [{ x, y }] : []));
	const ids = new Set(wanted.map(({ id }) => id));
	if (ids.size === 0 && pairs.length === 0) return [...groups];
	const rest = groups.map((group) => ({ ...group, charts: group.charts.filter(({ id }) => !ids.has(id)) }));
	return [
		{ id: pinnedGroup, title: 'Pinned charts', charts: [...new Set(wanted)], pairs },
		...rest.filter(({ charts }) => charts.length > 0),
	];
}
