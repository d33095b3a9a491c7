import type { TreeNode } from '../../../src/core/search/treeNode.ts';

/** Returns a path as text: the problem, a blank line, and the steps in order. */
export function pathText(nodes: readonly TreeNode[], textOf: (node: TreeNode) => string): string {
	const [root, ...steps] = nodes;
	if (root === undefined) return '';
	if (root.role !== 'problem') return nodes.map(textOf).join('');
	return steps.length === 0 ? textOf(root) : `${textOf(root).trimEnd()}\n\n${joined(steps.map(textOf))}`;
}

/** Joins the steps. If the policy did not write line breaks itself, puts each step on its own line. */
function joined(texts: readonly string[]): string {
	return texts.reduce((all, text) => {
		const isApart = all === '' || /\s$/.test(all) || /^\s/.test(text);
		return isApart ? all + text : `${all}\n${text}`;
	}, '');
}
