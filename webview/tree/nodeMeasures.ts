import type { SearchTree, TreeNode } from '../../src/core/search/searchTree.ts';

export const colourings = ['value', 'score', 'visits', 'prior', 'entropy', 'role'] as const;
/** Metrics that color nodes. */
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
	value: 'Mean or max of the backed-up values',
	score: 'Last score of the node',
	visits: 'Simulations through the node, on a log scale',
	prior: 'Probability among its siblings',
	entropy: 'Mean next-token entropy over the tokens of the step, in nats',
};

/** The metric of a node; null: none. Visits are logarithmic, as a few nodes have most of them. */
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

/** Values that take less than this share of their natural range have a scale of their own: else all would have one color. */
const leastShare = 0.5;

/**
 * The range that colors span: values and probabilities have all of 0 to 1 (or -1 to 1) where they spread over it, else what the
 * values of the tree lie between. null: there are none.
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

/** Of larger trees every so many nodes are looked at. */
const sampled = 1000;
/** Nodes that need a value or a score for these to be what one wants to see first. */
const fewest = 3;

/** What one wants to see first: what decided, by which most nodes were valued; else what the policy told of them. */
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
