import type { Scorer } from './scorer.ts';
import type { Search } from './search.ts';
import { aside } from './siblings.ts';
import type { TreeNode } from './treeNode.ts';

/** How to aggregate step values into a chain value (Snell et al. 2024, section 5.1). */
export const aggregations = ['last', 'min', 'prod', 'mean'] as const;
export type Aggregation = (typeof aggregations)[number];

export function aggregate(values: readonly number[], how: Aggregation): number {
	if (values.length === 0) return 0;
	switch (how) {
		case 'last':
			return values.at(-1) as number;
		case 'min':
			return Math.min(...values);
		case 'prod':
			return values.reduce((a, b) => a * b, 1);
		case 'mean':
			return values.reduce((a, b) => a + b, 0) / values.length;
	}
}

/** Score name for lookahead values. */
const lookaheadScore = 'lookahead';

/**
 * Scores nodes with the guide. If `lookahead` is positive, up to `lookahead` further steps are first generated at
 * temperature 0, and the node gets the value of the last of them (Snell et al. 2024, section 5.2).
 */
export async function valueSteps(search: Search, nodes: readonly TreeNode[], lookahead = 0): Promise<void> {
	const guide = search.guide as Scorer;
	const open = nodes.filter((node) => !node.scores.has(guide.name)).map(({ id }) => id);
	if (open.length > 0) await search.evaluate(open, guide);
	if (lookahead === 0) return;
	const ahead = nodes.filter((node) => !node.final && !node.scores.has(lookaheadScore));
	await search.parallel(ahead, async (node) => {
		let last = node;
		for (let i = 0; i < lookahead && !last.final; i++) {
			const [next] = await search.generate(last.id, {
				unit: 'step',
				sampling: { temperature: 0 },
				label: aside.lookahead,
			});
			if (next === undefined) break;
			last = next;
		}
		if (last === node) return;
		const [value = null] = await search.evaluate([last.id], guide);
		search.note({ t: 'score', id: node.id, scorer: lookaheadScore, value });
	});
}

/** Returns the value of the chain from the start of the search to a node; steps without a value count as 0. */
export function chainValue(search: Search, node: TreeNode, how: Aggregation): number {
	const guide = search.guide as Scorer;
	const { tree, root } = search;
	const own = (one: TreeNode) => one.scores.get(guide.name) ?? 0;
	const last = node.scores.get(lookaheadScore) ?? own(node);
	if (how === 'last') return last;
	const path = tree.pathTo(node.id);
	const above = path.slice(path.indexOf(root) + 1, -1);
	return aggregate([...above.map((id) => own(tree.node(id) as TreeNode)), last], how);
}
