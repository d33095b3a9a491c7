import { formatCounted } from '../../../base/format.ts';
import { field, finite, isTable, listField, numberField } from './foreignJson.ts';
import { TreeBuilder } from './treeBuilder.ts';
import type { ReadTree, TreeFault, TreeLimits } from './treeFormat.ts';

interface Cell {
	readonly id: number;
	readonly children: Map<string, Cell>;
	count: unknown;
}

/** Returns whether a value is a list of puzzles, each a list of visits. */
export const isCrosswordsLog = (value: readonly unknown[]): boolean =>
	value.some((puzzle) => Array.isArray(puzzle) && puzzle.some((visit) => listField(visit, 'actions') !== null));

/**
 * Reads logs of the depth-first crossword search (scripts/crosswords/search_crosswords-dfs.ipynb): one entry per visit,
 * with the words filled in so far (`actions`), the fractions of correct letters and words, and how many of the
 * remaining words can still be found. The search does not continue from a state in which a word is impossible.
 */
export function crosswordsTree(value: unknown, name: string, limits: TreeLimits): ReadTree | TreeFault {
	if (!Array.isArray(value)) return { name, fault: 'is not a list of visits' };
	const tree = new TreeBuilder({
		format: 'tree-of-thoughts',
		name,
		strategy: 'tree-of-thoughts-dfs',
		prompt: name,
		measure: 'r_word',
	});
	const root: Cell = { id: tree.node({ parents: [], text: '', label: name }), children: new Map(), count: null };
	let left = 0;
	let visits = 0;
	for (const [i, visit] of value.entries()) {
		const actions = listField(visit, 'actions');
		if (actions === null || actions.length === 0 || !actions.every((action) => typeof action === 'string')) {
			tree.fault(`Visit ${i} has no actions.`);
			continue;
		}
		tree.at = i;
		let at = root;
		let complete = true;
		for (const action of actions as readonly string[]) {
			const next = at.children.get(action);
			if (next !== undefined) {
				at = next;
				continue;
			}
			if (tree.nodes >= limits.nodes) {
				complete = false;
				break;
			}
			const cell: Cell = { id: tree.node({ parents: [at.id], text: action }), children: new Map(), count: null };
			at.children.set(action, cell);
			at = cell;
		}
		if (!complete) {
			left++;
			continue;
		}
		visits++;
		const info = field(visit, 'info');
		const [letters, words] = [numberField(info, 'r_letter'), numberField(info, 'r_word')];
		at.count = field(visit, 'count');
		tree.select(tree.pathTo(at.id));
		if (letters !== null) tree.score(at.id, 'r_letter', letters);
		if (words !== null) {
			tree.score(at.id, 'r_word', words);
			tree.value(at.id, words);
		}
		const impossible = finite(isTable(at.count) ? at.count.impossible : null) ?? 0;
		if (impossible > 0 && at.children.size === 0)
			tree.prune(at.id, `${formatCounted(impossible, 'word')} could not be found`);
	}
	tree.count('visits', visits);
	if (left > 0) tree.fault(`Showing the first ${limits.nodes} nodes.`);
	return visits + left === 0 ? { name, fault: 'has no visits' } : tree.done();
}
