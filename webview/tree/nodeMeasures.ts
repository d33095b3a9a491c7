import type { SearchTree, TreeNode } from '../../src/core/search/searchTree.ts';

export const colourings = ['value', 'score', 'visits', 'prior', 'entropy', 'role'] as const;
/** Metrics available for node colors. */
export type Colouring = (typeof colourings)[number];

export const colouringNames: Readonly<Record<Colouring, string>> = {
	value: 'Value (Q)',
	score: 'Score',
	visits: 'Visits (N)',
	prior: 'Prior',
	entropy: 'Entropy',
	role: 'Role',
};

export const colouringWords: Readonly<Record<Exclude<Colouring, 'role'>, string>> = {
	value: 'Mean or maximum of backed-up values',
	score: 'Latest score of the node',
	visits: 'Simulations through the node, on a log scale',
	prior: 'Prior probability among siblings',
	entropy: 'Mean next-token entropy over the step’s tokens, in nats',
};

/**
 * Returns a node's metric value, or null if there is none. Visits are logarithmic, because a few nodes have most of
 * them.
 */
export function measureOf(tree: SearchTree, node: TreeNode, colouring: Exclude<Colouring, 'role'>): number | null {
	switch (colouring) {
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
	readonly least: number;
	readonly most: number;
}

/**
 * Minimum fraction of the natural range that values must span to use it. Otherwise they get their own range, because
 * all colors would look alike.
 */
const leastShare = 0.5;

/**
 * Returns the range spanned by the colors. Values and probabilities use the full range 0 to 1 (or -1 to 1) if they
 * spread over it, and otherwise the minimum and maximum in the tree. null if there are no values.
 */
export function measureRange(tree: SearchTree, colouring: Exclude<Colouring, 'role'>): Range | null {
	let least = Number.POSITIVE_INFINITY;
	let most = Number.NEGATIVE_INFINITY;
	for (const node of tree.nodes) {
		const value = measureOf(tree, node, colouring);
		if (value === null || !Number.isFinite(value)) continue;
		if (value < least) least = value;
		if (value > most) most = value;
	}
	if (least > most) return null;
	const natural = naturalRange(colouring, least, most);
	const spread = most - least;
	if (spread > 1e-9 && spread < leastShare * (natural.most - natural.least)) return { least, most };
	return natural;
}

function naturalRange(colouring: Colouring, least: number, most: number): Range {
	if (colouring === 'visits' || colouring === 'entropy') return { least: 0, most: Math.max(most, 1e-9) };
	if (least >= 0 && most <= 1) return { least: 0, most: 1 };
	if (least >= -1 && most <= 1) return { least: -1, most: 1 };
	return least === most ? { least: least - 0.5, most: most + 0.5 } : { least, most };
}

/** Number of nodes inspected. Larger trees are sampled evenly. */
const sampled = 1000;
/** Minimum number of nodes with a value or score for it to become the default coloring. */
const fewest = 3;

/**
 * Returns the default coloring: the metric that drove decisions and rated most nodes, falling back to what the policy
 * reported.
 */
export function fittingColouring(tree: SearchTree): Colouring {
	const step = Math.max(1, Math.floor(tree.nodes.length / sampled));
	const count = (colouring: Exclude<Colouring, 'role'>) => {
		let known = 0;
		for (let id = 0; id < tree.nodes.length; id += step) {
			if (measureOf(tree, tree.nodes[id] as TreeNode, colouring) !== null) known++;
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
