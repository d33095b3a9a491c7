import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { boundsOf, type Layout, linksOf } from './layout.ts';
import { tidyBreadths } from './tidyBreadths.ts';
import type { VisibleTree } from './visibleTree.ts';

const right = { level: 210, sibling: 26 } as const;
const down = { level: 84, sibling: 116 } as const;

/** Tidy tree layout with levels from left to right or from top to bottom, and siblings packed closely. */
export function tidyLayout(nodes: readonly TreeNode[], tree: VisibleTree, to: 'right' | 'down'): Layout {
	const { level, sibling } = to === 'right' ? right : down;
	const across = tidyBreadths(tree).map((breadth) => breadth * sibling);
	const along = Float64Array.from(tree.depth, (depth) => depth * level);
	const [x, y] = to === 'right' ? [along, across] : [across, along];
	return {
		kind: to === 'right' ? 'tidy' : 'down',
		tree,
		x,
		y,
		bounds: boundsOf(x, y),
		slow: to === 'right' ? 'x' : 'y',
		edge: to,
		labelWidth: (to === 'right' ? level : sibling) - 26,
		rowHeight: to === 'right' ? sibling : level / 2,
		links: linksOf(nodes, tree),
		bends: new Map(),
		axis: null,
	};
}
