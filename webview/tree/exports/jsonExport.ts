import type { SearchTree } from '../../../src/core/search/searchTree.ts';

/** Exports the current view of the tree as JSON: the search, and all recorded data for every node. */
export function jsonExport(tree: SearchTree): string {
	const { start, outcome } = tree;
	return `${JSON.stringify(
		{
			format: 'reasoning-lab-tree',
			version: 1,
			strategy: start?.strategy ?? null,
			params: start?.params ?? {},
			problem: start?.problem ?? null,
			policy: start?.policy ?? null,
			outcome,
			nodes: tree.nodes.map((node) => ({
				id: node.id,
				parents: node.parents,
				role: node.role,
				label: node.label,
				text: node.text,
				final: node.final,
				answer: node.answer,
				visits: node.visits,
				value: tree.q(node.id),
				prior: node.prior,
				scores: Object.fromEntries(node.scores),
				logprob: node.logprob,
				tokens: node.tokens,
				entropy: node.entropy,
				pruned: node.pruned,
				mergedInto: node.mergedInto,
				by: node.by,
				seconds: node.bornAt,
			})),
		},
		null,
		'\t',
	)}\n`;
}
