import type { TreeNode } from '../../../src/core/search/treeNode.ts';

/**
 * The visible nodes in preorder along first parents. A *place* is a node's index in this order. Arrays are indexed by
 * place unless noted otherwise.
 */
export interface VisibleTree {
	readonly count: number;
	readonly ids: Int32Array;
	/** Place of the first parent, or -1 for a root. */
	readonly parent: Int32Array;
	/** Distance from the root. */
	readonly depth: Int32Array;
	/** Number of hidden descendants. */
	readonly hidden: Int32Array;
	/** Place by node ID, or -1 if the node is hidden. */
	readonly placeOf: Int32Array;
	readonly deepest: number;
}

export interface VisibleOptions {
	/** Returns whether a node's children are hidden. */
	readonly isCollapsed?: (id: number) => boolean;
	/** Returns whether a node matches the filter. Ancestors of matching nodes stay visible. */
	readonly isWanted?: (node: TreeNode) => boolean;
}

/** First children and next siblings by node ID, in creation order, or -1 if there is none. */
export interface Children {
	readonly first: Int32Array;
	readonly next: Int32Array;
	readonly roots: readonly number[];
}

/** Parents are always older than their children, so a single pass from the youngest node suffices. */
export function childrenOf(nodes: readonly TreeNode[], isKept: (id: number) => boolean = () => true): Children {
	const first = new Int32Array(nodes.length).fill(-1);
	const next = new Int32Array(nodes.length).fill(-1);
	const roots: number[] = [];
	for (let id = nodes.length - 1; id >= 0; id--) {
		if (!isKept(id)) continue;
		const parent = (nodes[id] as TreeNode).parents[0];
		if (parent === undefined) roots.push(id);
		else {
			next[id] = first[parent] as number;
			first[parent] = id;
		}
	}
	return { first, next, roots: roots.reverse() };
}

/** Returns the number of descendants of each node along first parents. */
export function descendants(nodes: readonly TreeNode[]): Int32Array {
	const below = new Int32Array(nodes.length);
	for (let id = nodes.length - 1; id >= 0; id--) {
		const parent = (nodes[id] as TreeNode).parents[0];
		if (parent !== undefined) below[parent] = (below[parent] as number) + (below[id] as number) + 1;
	}
	return below;
}

export function visibleTree(nodes: readonly TreeNode[], options: VisibleOptions = {}): VisibleTree {
	const { isCollapsed = () => false, isWanted } = options;
	const below = descendants(nodes);
	const kept = isWanted === undefined ? null : withAncestors(nodes, isWanted);
	const { first, next, roots } = childrenOf(nodes, kept === null ? undefined : (id) => kept[id] === 1);
	const ids = new Int32Array(nodes.length);
	const parent = new Int32Array(nodes.length);
	const depth = new Int32Array(nodes.length);
	const hidden = new Int32Array(nodes.length);
	const placeOf = new Int32Array(nodes.length).fill(-1);
	let count = 0;
	let deepest = 0;
	for (const root of roots) {
		// Visit first children, then siblings, then go back up. Avoid recursion, because chains can be long.
		let id = root;
		let under = -1;
		while (id !== -1) {
			const place = count++;
			ids[place] = id;
			parent[place] = under;
			placeOf[id] = place;
			depth[place] = under === -1 ? 0 : (depth[under] as number) + 1;
			if ((depth[place] as number) > deepest) deepest = depth[place] as number;
			hidden[place] = below[id] as number;
			const child = isCollapsed(id) ? -1 : (first[id] as number);
			if (child !== -1) {
				under = place;
				id = child;
				continue;
			}
			while (id !== root && next[id] === -1) {
				id = ids[under] as number;
				under = parent[under] as number;
			}
			id = id === root ? -1 : (next[id] as number);
		}
	}
	for (let place = count - 1; place >= 0; place--) {
		const up = parent[place] as number;
		// Hidden descendants are counted at their nearest visible ancestor only.
		if (up !== -1) hidden[up] = (hidden[up] as number) - 1 - (below[ids[place] as number] as number);
	}
	return {
		count,
		ids: ids.subarray(0, count),
		parent: parent.subarray(0, count),
		depth: depth.subarray(0, count),
		hidden: hidden.subarray(0, count),
		placeOf,
		deepest,
	};
}

function withAncestors(nodes: readonly TreeNode[], isWanted: (node: TreeNode) => boolean): Uint8Array {
	const kept = new Uint8Array(nodes.length);
	for (let id = nodes.length - 1; id >= 0; id--) {
		const node = nodes[id] as TreeNode;
		if (kept[id] === 0 && !isWanted(node)) continue;
		kept[id] = 1;
		const parent = node.parents[0];
		if (parent !== undefined) kept[parent] = 1;
	}
	return kept;
}
