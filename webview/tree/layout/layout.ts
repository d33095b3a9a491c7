import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import type { VisibleTree } from './visibleTree.ts';

export const layoutKinds = ['tidy', 'down', 'radial', 'indented', 'timeline', 'layered'] as const;
export type LayoutKind = (typeof layoutKinds)[number];

/** Node positions, in CSS pixels at scale 1, with x pointing right and y pointing down. */
export interface Layout {
	readonly kind: LayoutKind;
	readonly tree: VisibleTree;
	readonly x: Float64Array;
	readonly y: Float64Array;
	readonly bounds: Bounds;
	/**
	 * Axis along which even a large tree is not much longer than the window. Zooming out shrinks it less than the other
	 * axis. null if both axes scale equally.
	 */
	readonly slow: 'x' | 'y' | null;
	/** Edge style. */
	readonly edge: 'right' | 'down' | 'straight' | 'elbow';
	/** Space for the label to the right of a node, or 0 if unlimited. */
	readonly labelWidth: number;
	/** Minimum distance between two labels. */
	readonly rowHeight: number;
	/** Edges other than those to first parents: pairs of places with their kind. */
	readonly links: readonly Link[];
	/** Bend points of edges to first parents, keyed by the child's place: x, y, x, y, ... */
	readonly bends: ReadonlyMap<number, readonly number[]>;
	/** Meaning of the x axis, if it is quantitative. */
	readonly axis: TimeAxis | null;
}

export interface Link {
	readonly from: number;
	readonly to: number;
	/** `parent`: `from` is an additional parent of `to`; `merge`: `from` was merged into `to`. */
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
	/** Pixels per unit. */
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

/** Returns the edges to additional parents and merge targets between visible nodes. */
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
