import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { boundsOf, type Layout, linksOf } from './layout.ts';
import { tidyBreadths } from './tidyBreadths.ts';
import type { VisibleTree } from './visibleTree.ts';

const ring = 90;
/** Minimum arc length between neighbors. */
const arc = 18;

/** Radial layout with the root in the center and one ring per level. */
export function radialLayout(nodes: readonly TreeNode[], tree: VisibleTree): Layout {
	const breadths = tidyBreadths(tree, 1.15);
	let [min, max] = [0, 0];
	for (const breadth of breadths) {
		if (breadth < min) min = breadth;
		if (breadth > max) max = breadth;
	}
	// Space the last and first nodes like cousins.
	const turn = max - min + 1.5;
	const radii = ringRadii(tree, breadths, turn);
	const x = new Float64Array(tree.count);
	const y = new Float64Array(tree.count);
	for (let i = 0; i < tree.count; i++) {
		const angle = (((breadths[i] as number) - min) / turn) * 2 * Math.PI - Math.PI / 2;
		const radius = radii[tree.depth[i] as number] as number;
		x[i] = radius * Math.cos(angle);
		y[i] = radius * Math.sin(angle);
	}
	return {
		kind: 'radial',
		tree,
		x,
		y,
		bounds: boundsOf(x, y),
		slow: null,
		edge: 'straight',
		labelWidth: ring - 14,
		rowHeight: arc,
		links: linksOf(nodes, tree),
		bends: new Map(),
		axis: null,
	};
}

/** Returns ring radii large enough for the closest pair of nodes on each ring. */
function ringRadii(tree: VisibleTree, breadths: Float64Array, turn: number): Float64Array {
	const nearest = new Float64Array(tree.deepest + 1).fill(Number.POSITIVE_INFINITY);
	const last = new Float64Array(tree.deepest + 1).fill(Number.NaN);
	// In preorder, the nodes on a level appear from left to right.
	for (let i = 0; i < tree.count; i++) {
		const depth = tree.depth[i] as number;
		const gap = (breadths[i] as number) - (last[depth] as number);
		if (gap < (nearest[depth] as number)) nearest[depth] = gap;
		last[depth] = breadths[i] as number;
	}
	const radii = new Float64Array(tree.deepest + 1);
	// Multiple roots share a separate ring.
	if (Number.isFinite(nearest[0])) radii[0] = Math.max(ring / 2, (arc * turn) / ((nearest[0] as number) * 2 * Math.PI));
	for (let depth = 1; depth < radii.length; depth++) {
		const room = (arc * turn) / ((nearest[depth] as number) * 2 * Math.PI);
		radii[depth] = Math.max((radii[depth - 1] as number) + ring, room);
	}
	return radii;
}
