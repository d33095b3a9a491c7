import { isSuccess } from '../../core/episode/episodeSuccess.ts';
import { turnsOf } from '../../core/search/episodeTurns.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import type { EnvironmentDescription } from '../../protocol/environmentHost.ts';
import type { EvaluatedQuestion } from '../../protocol/evaluationFolder.ts';

type Sample = EvaluatedQuestion['samples'][number];

/**
 * Returns the episodes in a tree as samples for a question. An episode is correct if it earned the maximum reward.
 * Episodes without a reward failed and are omitted. @param environment environment in which the episodes were played;
 * provides the rewards
 */
export function episodeSamples(
	tree: SearchTree,
	{ rewardRange }: Pick<EnvironmentDescription, 'rewardRange'>,
): Sample[] {
	return tree.nodes
		.filter(({ final }) => final)
		.flatMap((node) => {
			const correct = isSuccess(node.score, rewardRange);
			return correct === null ? [] : [episodeSample(tree, node, correct)];
		});
}

function episodeSample(tree: SearchTree, node: TreeNode, correct: boolean): Sample {
	const turns = turnsOf(tree, node.id).filter(({ calls }) => calls.length > 0);
	const calls = turns.flatMap((turn) => turn.calls);
	const parts = tree.partsOf(node.id).map((id) => tree.node(id) as TreeNode);
	return {
		completion: tree.textOf(node.id),
		answer: null,
		correct,
		tokens: parts.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0),
		truncated: node.finish === null ? null : node.finish === 'length',
		score: node.score,
		episode: {
			calls: calls.length,
			failures: calls.filter(({ failed }) => failed).length,
			turns: turns.map((turn) => ({
				calls: turn.calls.map(({ name, arguments: given }) => ({ name, arguments: given })),
				results: turn.calls.map(({ name, result, failed }) => ({ name, content: result, failed })),
			})),
		},
	};
}
