import { formatNumber } from '../../../src/base/format.ts';
import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import type { NodeRole } from '../../../src/protocol/treeLog.ts';
import { wordsOf } from '../draw/nodeLabel.ts';
import { mark, nodeAt, type Scene } from '../draw/scene.ts';

/** Maximum number of nodes. Mermaid's own limit is 500 edges. */
const limit = 300;
const longest = 60;

/** Mermaid brackets per role, which determine the node shape. */
const brackets: Readonly<Record<NodeRole, readonly [string, string]>> = {
	problem: ['([', '])'],
	thought: ['(', ')'],
	answer: ['[', ']'],
	draft: ['[', ']'],
	critique: ['{', '}'],
	revision: ['[', ']'],
	aggregate: ['>', ']'],
	subproblem: ['[', ']'],
	tool: ['{{', '}}'],
};

/**
 * Escapes text for a quoted Mermaid string. Keeps letters, digits, spaces and plain punctuation, and replaces all other
 * characters with numeric codes, so text cannot end the string or start a tag or a directive.
 */
export function mermaidText(text: string): string {
	let out = '';
	for (const character of text) {
		const code = character.codePointAt(0) as number;
		if (/[\p{L}\p{N} .,:+=*/()-]/u.test(character)) out += character;
		else if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code <= 0xdfff)) out += ' ';
		else out += `#${code};`;
	}
	return out;
}

/**
 * Exports the visible nodes as a flowchart. Large trees are limited to the nodes nearest to the root and the best path,
 * with a note.
 */
export function mermaidExport(scene: Scene): string {
	const { tree, links } = scene.layout;
	const places = chosen(scene);
	const kept = new Set(places);
	const lines = ['flowchart LR'];
	if (places.length < tree.count) {
		lines.push(`%% ${places.length} of ${tree.count} nodes: the ones nearest to the root, and the best path.`);
	}
	for (const place of places) {
		const node = nodeAt(scene, place) as TreeNode;
		const q = scene.tree.q(node.id) ?? node.score;
		const [open, close] = brackets[node.role];
		const words = [
			mermaidText(wordsOf(node, longest)),
			node.answer === null ? '' : `answer ${mermaidText(node.answer.slice(0, longest))}`,
			q === null ? '' : mermaidText(`${formatNumber(q, 3)}${node.visits > 0 ? `, ${node.visits} visits` : ''}`),
		];
		lines.push(`n${node.id}${open}"${words.filter((part) => part !== '').join('<br/>')}"${close}`);
	}
	for (const place of places) {
		const up = tree.parent[place] as number;
		if (up === -1 || !kept.has(up)) continue;
		const isBest = ((scene.marks[place] as number) & mark.best) !== 0;
		lines.push(`n${tree.ids[up]} ${isBest ? '==>' : '-->'} n${tree.ids[place]}`);
	}
	for (const { from, to, kind } of links) {
		if (!kept.has(from) || !kept.has(to)) continue;
		lines.push(`n${tree.ids[from]} -.${kind === 'merge' ? '->|merged|' : '->'} n${tree.ids[to]}`);
	}
	const pruned = places.filter((place) => ((scene.marks[place] as number) & mark.pruned) !== 0);
	if (pruned.length > 0) {
		lines.push('classDef pruned stroke-dasharray: 4 3,opacity: 0.6');
		lines.push(`class ${pruned.map((place) => `n${tree.ids[place]}`).join(',')} pruned`);
	}
	return `${lines.join('\n')}\n`;
}

function chosen(scene: Scene): number[] {
	const { tree } = scene.layout;
	const all = Array.from({ length: tree.count }, (_, place) => place).filter(
		(place) => nodeAt(scene, place) !== undefined,
	);
	if (all.length <= limit) return all;
	const isBest = (place: number): boolean => ((scene.marks[place] as number) & mark.best) !== 0;
	return all
		.toSorted((a, b) => Number(isBest(b)) - Number(isBest(a)) || (tree.depth[a] as number) - (tree.depth[b] as number))
		.slice(0, limit)
		.sort((a, b) => a - b);
}
