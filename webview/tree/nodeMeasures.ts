import type { SearchTree } from '../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../src/core/search/treeNode.ts';

export const colorings = ['value', 'score', 'visits', 'prior', 'entropy', 'role'] as const;
/** Metrics available for node colors. */
export type Coloring = (typeof colorings)[number];

export const coloringNames: Readonly<Record<Coloring, string>> = {
	value: 'Value (Q)',
	score: 'Score',
	visits: 'Visits (N)',
	prior: 'Prior',
	entropy: 'Entropy',
	role: 'Role',
};

export const coloringWords: Readonly<Record<Exclude<Coloring, 'role'>, string>> = {
	value: 'Mean or maximum of backed-up values',
	score: 'Latest score for the node',
	visits: 'Simulations through the node, on a log scale',
	prior: 'Prior probability among siblings',
	entropy: 'Mean next-token entropy over the step’s tokens, in nats',
};

/**
 * Returns a node's metric value, or null if there is none. Visits are on a log scale, because a few nodes have most of
 * them.
 */
export function measureOf(tree: SearchTree, node: TreeNode, coloring: Exclude<Coloring, 'role'>): number | null {
	switch (coloring) {
		case 'value':
			return tree.q(node.id);
		case 'score':
			return node.score;
		case 'visits':
			return node.visits === 0 ? null : Math.log10(node.visits);
		case 'prior':
			return node.prior;
		case 'entropy':
			return node.entropy;
	}
}

export interface Range {
	readonly min: number;
	readonly max: number;
}

/**
 * Minimum fraction of the natural range that values must span for that range to be used. Values that span less get
 * their own range, because their colors would otherwise all look alike.
 */
const minShare = 0.5;

/**
 * Returns the range spanned by the colors: for values and probabilities that span enough of it, the full range 0 to 1
 * (or -1 to 1); otherwise, the minimum to the maximum in the tree. Returns null if there are no values.
 */
export function measureRange(tree: SearchTree, coloring: Exclude<Coloring, 'role'>): Range | null {
	let min = Number.POSITIVE_INFINITY;
	let max = Number.NEGATIVE_INFINITY;
	for (const node of tree.nodes) {
		const value = measureOf(tree, node, coloring);
		if (value === null || !Number.isFinite(value)) continue;
		if (value < min) min = value;
		if (value > max) max = value;
	}
	if (min > max) return null;
	const natural = naturalRange(coloring, min, max);
	const spread = max - min;
	if (spread > 1e-9 && spread < minShare * (natural.max - natural.min)) return { min, max };
	return natural;
}

function naturalRange(coloring: Coloring, min: number, max: number): Range {
	if (coloring === 'visits' || coloring === 'entropy') return { min: 0, max: Math.max(max, 1e-9) };
	if (min >= 0 && max <= 1) return { min: 0, max: 1 };
	if (min >= -1 && max <= 1) return { min: -1, max: 1 };
	return min === max ? { min: min - 0.5, max: max + 0.5 } : { min, max };
}

/** Number of nodes inspected. Larger trees are sampled evenly. */
const sampled = 1000;
/** Minimum number of nodes that must have a value (or a score) for values (or scores) to be the default coloring. */
const fewest = 3;

/**
 * Returns the default coloring: the metric that drove decisions and has values for the most nodes, falling back to what the policy
 * reported.
 */
export function fittingColoring(tree: SearchTree): Coloring {
	const step = Math.max(1, Math.floor(tree.nodes.length / sampled));
	const count = (coloring: Exclude<Coloring, 'role'>) => {
		let known = 0;
		for (let id = 0; id < tree.nodes.length; id += step) {
			if (measureOf(tree, tree.nodes[id] as TreeNode, coloring) !== null) known++;
		}
		return known;
	};
	const [value, score] = [count('value'), count('score')];
	if (Math.max(value, score) >= fewest) return score > value * 1.5 ? 'score' : 'value';
	const [prior, entropy] = [count('prior'), count('entropy')];
	if (Math.max(prior, entropy) > Math.max(value, score)) return entropy > prior ? 'entropy' : 'prior';
	if (value + score === 0) return 'role';
	return score > value ? 'score' : 'value';
}
