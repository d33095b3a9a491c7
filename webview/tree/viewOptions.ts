import type { Detail } from './layout/collapsing.ts';
import type { LayoutKind, TimeAxis } from './layout/layout.ts';
import type { NodeFilter } from './nodeFilter.ts';
import type { Colouring } from './nodeMeasures.ts';

/** How the trees are drawn; both sides alike. null: what fits the tree best. */
export interface ViewOptions {
	readonly layout: LayoutKind | null;
	readonly colouring: Colouring | null;
	readonly detail: Detail;
	readonly filter: NodeFilter;
	/** Edges are the wider the more visits they had. */
	readonly widths: boolean;
	readonly timeUnit: TimeAxis['unit'];
	readonly minimap: boolean;
}

export const firstOptions: ViewOptions = {
	layout: null,
	colouring: null,
	detail: 'automatic',
	filter: 'all',
	widths: true,
	timeUnit: 'events',
	minimap: true,
};
