import type { Detail } from './layout/collapsing.ts';
import type { LayoutKind, TimeAxis } from './layout/layout.ts';
import type { NodeFilter } from './nodeFilter.ts';
import type { Coloring } from './nodeMeasures.ts';

/** Display options, shared by both sides. null selects the best fit for the tree. */
export interface ViewOptions {
	readonly layout: LayoutKind | null;
	readonly coloring: Coloring | null;
	readonly detail: Detail;
	readonly filter: NodeFilter;
	/** Whether edges get wider with the number of visits. */
	readonly widths: boolean;
	readonly timeUnit: TimeAxis['unit'];
	readonly minimap: boolean;
}

export const firstOptions: ViewOptions = {
	layout: null,
	coloring: null,
	detail: 'automatic',
	filter: 'all',
	widths: true,
	timeUnit: 'events',
	minimap: true,
};
