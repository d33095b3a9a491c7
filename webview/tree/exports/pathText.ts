import type { TreeNode } from '../../../src/core/search/searchTree.ts';

/** A path as one text: the problem, a blank line, and the steps as they follow each other. */
export function pathText(nodes: readonly TreeNode[], textOf: (node: TreeNode) => string): string {
	const [root, ...steps] = nodes;
	if (root === undefined) return '';
	if (root.role !== 'problem') return nodes.map(textOf).join('');
	return steps.length === 0 ? textOf(root) : `${textOf(root).trimEnd()}\n\n${joined(steps.map(textOf))}`;
}

/** Steps carry their own line ends where a policy wrote them; where none does, each gets a line. */
function joined(texts: readonly string[]): string {
	return texts.reduce((all, text) => {
		const isApart = all === '' || /\s$/.test(all) || /^\s/.test(text);
		return isApart ? all + text : `${all}\n${text}`;
	}, '');
}
