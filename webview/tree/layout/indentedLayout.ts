import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { boundsOf, type Layout, linksOf } from './layout.ts';
import type { VisibleTree } from './visibleTree.ts';

const row = 22;
const indent = 20;

/** Outline layout with one row per node. */
export function indentedLayout(nodes: readonly TreeNode[], tree: VisibleTree): Layout {
	const x = Float64Array.from(tree.depth, (depth) => depth * indent);
	const y = Float64Array.from({ length: tree.count }, (_, place) => place * row);
	return {
		kind: 'indented',
		tree,
		x,
		y,
		bounds: boundsOf(x, y),
		slow: 'x',
		edge: 'elbow',
		labelWidth: 0,
		rowHeight: row,
		links: linksOf(nodes, tree),
		bends: new Map(),
		axis: null,
	};
}
