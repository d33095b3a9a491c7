import type { SearchTree } from '../core/search/searchTree.ts';
import type { TreeNode } from '../core/search/treeNode.ts';
import { printable } from './cliOutput.ts';
import { formatNumber } from './textForms.ts';

/**
 * Draws a tree as lines of text: the entire `best` path, marked with `*`, plus as many other nodes as fit, starting
 * near the root. Each gap shows the number of hidden nodes.
 * @param rows maximum number of nodes to draw; each root gets at least one
 */
export function treeDrawing(tree: SearchTree, best: readonly number[], columns: number, rows = 40): string[] {
	const shown = new Set<number>();
	const onBest = new Set(best);
	for (const id of best) shown.add(id);
	// In a graph, a node is drawn only once, under its first parent.
	const children = (id: number) =>
		(tree.node(id)?.children ?? []).filter((child) => tree.node(child)?.parents[0] === id);
	const queue: number[] = [...tree.roots];
	for (let i = 0; i < queue.length && shown.size < rows; i++) {
		const id = queue[i] as number;
		shown.add(id);
		queue.push(...children(id));
	}
	const lines: string[] = [];
	/** A node, or a line with the number of hidden nodes. */
	const open: ({ readonly id: number; readonly lead: string; readonly below: string } | string)[] = [];
	const push = (all: readonly number[], below: string, root: boolean) => {
		const drawn = all.filter((id) => shown.has(id));
		const hidden = all.filter((id) => !shown.has(id));
		if (hidden.length > 0) {
			const deeper = hidden.some((id) => children(id).length > 0) ? ' with descendants' : '';
			open.push(`${root ? '' : `${below}└─ `}… ${hidden.length} more${deeper}`);
		}
		for (const [i, id] of [...drawn.entries()].reverse()) {
			const last = i === drawn.length - 1 && hidden.length === 0;
			const lead = root ? '' : `${below}${last ? '└─ ' : '├─ '}`;
			open.push({ id, lead, below: root ? '' : `${below}${last ? '   ' : '│  '}` });
		}
	};
	push(tree.roots, '', true);
	for (let next = open.pop(); next !== undefined; next = open.pop()) {
		if (typeof next === 'string') {
			lines.push(next);
			continue;
		}
		lines.push(nodeLine(tree, tree.node(next.id) as TreeNode, next.lead, onBest.has(next.id), columns));
		push(children(next.id), next.below, false);
	}
	return lines;
}

function nodeLine(tree: SearchTree, node: TreeNode, lead: string, best: boolean, columns: number): string {
	const q = tree.q(node.id);
	const facts = [
		...(q === null ? [] : [`Q ${formatNumber(q)}, N ${node.visits}`]),
		...(q === null && node.score !== null ? [formatNumber(node.score)] : []),
		...(node.pruned === null ? [] : ['pruned']),
		...(node.mergedInto === null ? [] : ['merged']),
		...(node.answer === null ? [] : [`= ${printable(node.answer)}`]),
	];
	const suffix = facts.length === 0 ? '' : `  (${facts.join(', ')})`;
	const text = printable((node.text.trim() || node.label) ?? '')
		.replace(/\s+/g, ' ')
		.trim();
	const room = Math.max(12, columns - lead.length - suffix.length - 2);
	const cut = text.length > room ? `${text.slice(0, room - 1)}…` : text;
	return `${lead}${best ? '* ' : ''}${cut || '(no text)'}${suffix}`;
}
