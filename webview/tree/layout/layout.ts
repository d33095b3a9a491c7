import type { TreeNode } from '../../../src/core/search/searchTree.ts';
import type { VisibleTree } from './visibleTree.ts';

export const layoutKinds = ['tidy', 'down', 'radial', 'indented', 'timeline', 'layered'] as const;
export type LayoutKind = (typeof layoutKinds)[number];

/** Where the nodes lie. Lengths are CSS pixels at scale 1, x to the right, y downwards. */
export interface Layout {
	readonly kind: LayoutKind;
	readonly tree: VisibleTree;
	readonly x: Float64Array;
	readonly y: Float64Array;
	readonly bounds: Bounds;
	/**
	 * The axis along which a large tree is not much longer than a window: zooming out shrinks it less than the other. null:
	 * both alike.
	 */
	readonly slow: 'x' | 'y' | null;
	/** How edges are drawn. */
	readonly edge: 'right' | 'down' | 'straight' | 'elbow';
	/** Room of a label to the right of its node; 0: as much as it needs. */
	readonly labelWidth: number;
	/** Distance of two labels that are nearest to each other. */
	readonly rowHeight: number;
	/** Edges but those to first parents: pairs of places, and what they say. */
	readonly links: readonly Link[];
	/** By place of its end, where an edge to the first parent goes through between them: x, y, x, y, ... */
	readonly bends: ReadonlyMap<number, readonly number[]>;
	/** What x stands for, when it is a quantity. */
	readonly axis: TimeAxis | null;
}

export interface Link {
	readonly from: number;
	readonly to: number;
	/** `parent`: a further parent; `merge`: `to` is the same as `from`. */
	readonly kind: 'parent' | 'merge';
	readonly bends: readonly number[] | null;
}

export interface Bounds {
	readonly left: number;
	readonly top: number;
	readonly right: number;
	readonly bottom: number;
}

export interface TimeAxis {
	readonly unit: 'seconds' | 'events';
	readonly end: number;
	/** Pixels of one unit. */
	readonly scale: number;
}

export function boundsOf(x: Float64Array, y: Float64Array): Bounds {
	let [left, top, right, bottom] = [0, 0, 0, 0];
	for (let i = 0; i < x.length; i++) {
		const [px, py] = [x[i] as number, y[i] as number];
		if (i === 0 || px < left) left = px;
		if (i === 0 || px > right) right = px;
		if (i === 0 || py < top) top = py;
		if (i === 0 || py > bottom) bottom = py;
	}
	return { left, top, right, bottom };
}

/** Edges to further parents and to what a node is the same as, between nodes that are shown. */
export function linksOf(nodes: readonly TreeNode[], tree: VisibleTree): Link[] {
	const links: Link[] = [];
	for (let to = 0; to < tree.count; to++) {
		const { parents, mergedInto } = nodes[tree.ids[to] as number] as TreeNode;
		for (let i = 1; i < parents.length; i++) {
			const from = tree.placeOf[parents[i] as number] ?? -1;
			if (from !== -1) links.push({ from, to, kind: 'parent', bends: null });
		}
		if (mergedInto === null) continue;
		const into = tree.placeOf[mergedInto] ?? -1;
		if (into !== -1) links.push({ from: to, to: into, kind: 'merge', bends: null });
	}
	return links;
}
