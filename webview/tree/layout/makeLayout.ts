import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { indentedLayout } from './indentedLayout.ts';
import { layeredLayout } from './layeredLayout.ts';
import type { Layout, LayoutKind, TimeAxis } from './layout.ts';
import { radialLayout } from './radialLayout.ts';
import { tidyLayout } from './tidyLayout.ts';
import { timelineLayout } from './timelineLayout.ts';
import type { VisibleTree } from './visibleTree.ts';

/**
 * Maximum number of nodes for the layered layout. Larger graphs would take seconds, so they are laid out as a tree of
 * first parents.
 */
const maxLayered = 6000;

export function makeLayout(
	kind: LayoutKind,
	nodes: readonly TreeNode[],
	tree: VisibleTree,
	unit: TimeAxis['unit'] = 'events',
): Layout {
	switch (kind) {
		case 'tidy':
			return tidyLayout(nodes, tree, 'right');
		case 'down':
			return tidyLayout(nodes, tree, 'down');
		case 'radial':
			return radialLayout(nodes, tree);
		case 'indented':
			return indentedLayout(nodes, tree);
		case 'timeline':
			return timelineLayout(nodes, tree, unit);
		case 'layered':
			return tree.count > maxLayered ? tidyLayout(nodes, tree, 'right') : layeredLayout(nodes, tree);
	}
}
