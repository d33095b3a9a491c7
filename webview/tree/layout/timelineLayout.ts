import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { boundsOf, type Layout, linksOf, type TimeAxis } from './layout.ts';
import type { VisibleTree } from './visibleTree.ts';

const row = 24;
/** Average pixels per node, and limits for the total axis length. */
const room = { node: 40, min: 900, max: 60_000 } as const;

/**
 * Timeline layout: x is the time or event number at which a node was created. A first child continues in its parent's
 * row.
 */
export function timelineLayout(nodes: readonly TreeNode[], tree: VisibleTree, unit: TimeAxis['unit']): Layout {
	const when = (place: number): number => {
		const node = nodes[tree.ids[place] as number] as TreeNode;
		return unit === 'seconds' ? node.bornAt : node.born;
	};
	let end = 0;
	for (let i = 0; i < tree.count; i++) end = Math.max(end, when(i));
	const width = Math.max(room.min, Math.min(room.max, tree.count * room.node));
	const scale = end > 0 ? width / end : 0;
	const x = new Float64Array(tree.count);
	const y = new Float64Array(tree.count);
	let rows = 0;
	for (let i = 0; i < tree.count; i++) {
		x[i] = when(i) * scale;
		// The next place in preorder is the first child, if there is one.
		const goesOn = i > 0 && tree.parent[i] === i - 1;
		if (!goesOn && i > 0) rows++;
		y[i] = rows * row;
	}
	return {
		kind: 'timeline',
		tree,
		x,
		y,
		bounds: boundsOf(x, y),
		slow: 'x',
		edge: 'elbow',
		labelWidth: room.node * 2.5,
		rowHeight: row,
		links: linksOf(nodes, tree),
		bends: new Map(),
		axis: { unit, end, scale },
	};
}
