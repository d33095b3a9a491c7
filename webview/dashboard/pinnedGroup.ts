import type { PinnedChart } from '../../src/protocol/pinnedCharts.ts';
import type { ChartGroup } from './chartParts.ts';

export const pinnedGroup = 'pinned';

/**
 * Moves the charts with a pinned metric to a group at the top, in the order in which they were pinned. Charts of two
 * metrics appear only in comparisons.
 */
export function withPinned(groups: readonly ChartGroup[], pinned: readonly PinnedChart[]): ChartGroup[] {
	const all = groups.flatMap(({ charts }) => charts);
	const wanted = pinned.flatMap(({ x, y }) =>
		x === null ? all.filter(({ lines }) => lines.some(({ metric }) => metric === y)) : [],
	);
	const ids = new Set(wanted.map(({ id }) => id));
	if (ids.size === 0) return [...groups];
	const rest = groups.map((group) => ({ ...group, charts: group.charts.filter(({ id }) => !ids.has(id)) }));
	return [
		{ id: pinnedGroup, title: 'Pinned charts', charts: [...new Set(wanted)] },
		...rest.filter(({ charts }) => charts.length > 0),
	];
}
