import { formatCount, formatNumber } from '../../../src/base/format.ts';
import type { SearchTree } from '../../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { plainLabel } from '../../lib/trace/hiddenCharacters.ts';
import type { Coloring } from '../nodeMeasures.ts';
import { roleNames } from './nodeShapes.ts';

/** Maximum label length in characters, before truncation to the available width. */
const longest = 160;

/** Leading tags such as `<think>` or `<|im_start|>`, which are identical for all steps. */
const leadingTags = /^(?:\s*<\/?[|\w][\w|-]{0,30}>)+\s*/;

/** Returns a one-line node label: its name, or its text if unnamed, with invisible characters escaped. */
export function wordsOf(node: TreeNode, limit = longest): string {
	const { label, text, answer } = node;
	const words = plainLabel(label ?? (text.replace(leadingTags, '').trimStart() || text.trimStart()), limit);
	if (words !== '') return words;
	return answer === null ? `(${roleNames[node.role].toLowerCase()} without text)` : plainLabel(answer, limit);
}

/** Returns a short form of the value that determines the node color, or an empty string if there is none. */
export function figureOf(tree: SearchTree, node: TreeNode, coloring: Coloring): string {
	switch (coloring) {
		case 'value': {
			const q = tree.q(node.id);
			return q === null ? '' : formatNumber(q, 2);
		}
		case 'score':
			return node.score === null ? '' : formatNumber(node.score, 2);
		case 'visits':
			return node.visits === 0 ? '' : formatCount(node.visits);
		case 'prior':
			return node.prior === null ? '' : formatNumber(node.prior, 2);
		case 'entropy':
			return node.entropy === null ? '' : formatNumber(node.entropy, 2);
		case 'role':
			return '';
	}
}

/** Truncates text to a width by bisection. Returns an empty string if fewer than three characters fit. */
export function cutTo(text: string, width: number, measure: (text: string) => number): string {
	if (measure(text) <= width) return text;
	let low = 0;
	let high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (measure(`${text.slice(0, middle)}…`) <= width) low = middle;
		else high = middle - 1;
	}
	// Do not split a surrogate pair.
	const code = text.charCodeAt(low - 1);
	if (code >= 0xd800 && code <= 0xdbff) low--;
	return low < 3 ? '' : `${text.slice(0, low).trimEnd()}…`;
}
