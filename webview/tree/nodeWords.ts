import { formatCount, formatNumber } from '../../src/base/format.ts';
import type { SearchTree } from '../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../src/core/search/treeNode.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { wordsOf } from './draw/nodeLabel.ts';
import { roleNames } from './draw/nodeShapes.ts';

/** Describes a node for screen readers and the hover box. */
export function describeNode(tree: SearchTree, node: TreeNode, hidden: number, isBest: boolean): string {
	const q = tree.q(node.id);
	const count = (n: number, one: string, many = `${one}s`): string => `${formatCount(n)} ${n === 1 ? one : many}`;
	return [
		`${roleNames[node.role]} ${node.id}: ${wordsOf(node, 240)}`,
		node.answer !== null && `answer ${plainLabel(node.answer, 60)}`,
		q !== null && `value ${formatNumber(q, 3)}`,
		node.visits > 0 && count(node.visits, 'visit'),
		q === null && node.score !== null && `score ${formatNumber(node.score, 3)}`,
		node.prior !== null && `prior ${formatNumber(node.prior, 3)}`,
		isBest && 'on the best path',
		node.pruned !== null && `pruned: ${plainLabel(node.pruned, 60)}`,
		node.mergedInto !== null && `merged into node ${node.mergedInto}`,
		node.by === 'person' && 'added by user',
		hidden > 0
			? `${count(hidden, 'node')} below not shown`
			: node.children.length > 0 && count(node.children.length, 'child', 'children'),
	]
		.filter((words) => words !== false)
		.join(', ');
}
