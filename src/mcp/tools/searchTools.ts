import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import { readSearchSummary } from '../../runs/searchLog.ts';
import { pageOf, quote } from '../answer.ts';
import * as input from '../inputs.ts';
import { defineTool } from '../tool.ts';

const excerpt = 300;
const maxChildren = 50;
const maxNotes = 50;

const place = {
	run: v.optional(
		input.described(v.pipe(v.string(), v.maxLength(4096)), 'Run that contains the search. Omit for other files.'),
	),
	search: input.text(
		'Search, as returned by list_searches, or a tree file from another program: absolute path, or relative to a server folder.',
	),
	tree: v.optional(input.described(input.whole(1, 1e9), 'Number of the tree in the file, starting at 1.'), 1),
};

export const listSearches = defineTool({
	name: 'list_searches',
	title: 'List searches',
	description:
		'List search logs in runs and in the searches folders, newest first: strategy, policy, problem, result, stop reason and tokens used.',
	input: v.object({ limit: input.limit(30), cursor: input.cursor }),
	async run({ limit, cursor }, { searches }) {
		const page = pageOf(await searches.list(), cursor, limit);
		const items = await Promise.all(
			page.items.map(async ({ run, search, path }) => {
				const address = formatAddress({ kind: 'search', run, search, tree: 1, node: null });
				const where = { ...(run === null ? {} : { run }), search, address };
				try {
					const summary = await readSearchSummary(path);
					if (summary === null) return { ...where, status: 'not a search log' };
					const { start, end, nodes } = summary;
					return {
						...where,
						status: end === null ? 'running or interrupted' : end.stop,
						strategy: start.strategy,
						policy: start.policy.name,
						nodes,
						answer: end?.answer == null ? null : quote(end.answer, excerpt),
						value: end?.value ?? null,
						correct: end?.correct ?? null,
						tokens: end?.tokens ?? null,
					};
				} catch (error) {
					return { ...where, status: 'unreadable', problem: Failure.from(error).toString() };
				}
			}),
		);
		return { ...page, items };
	},
});

const nodeFacts = (tree: SearchTree, node: TreeNode) => ({
	node: node.id,
	parent: node.parents[0] ?? null,
	depth: node.depth,
	role: node.role,
	children: node.children.length,
	visits: node.visits,
	q: tree.q(node.id),
	score: node.score,
	prior: node.prior,
	final: node.final,
	answer: node.answer === null ? null : quote(node.answer, excerpt),
	pruned: node.pruned,
});

/** Sort by descending value, with nodes without a value last. */
const byValue = (tree: SearchTree) => (a: TreeNode, b: TreeNode) => {
	const of = (node: TreeNode) => tree.q(node.id) ?? node.score ?? Number.NEGATIVE_INFINITY;
	const [first, second] = [of(a), of(b)];
	return first === second ? a.id - b.id : second > first ? 1 : -1;
};

export const readTree = defineTool({
	name: 'read_tree',
	title: 'Read a search tree',
	description:
		'Read a search tree: its problem, strategy, totals and result, and its nodes page by page in order of creation, value or visits.',
	input: v.object({
		...place,
		order: v.optional(v.picklist(['created', 'value', 'visits']), 'created'),
		limit: input.limit(30),
		cursor: input.cursor,
	}),
	async run({ run = null, search, tree: number, order, limit, cursor }, { searches }) {
		const { name, tree, file, address } = await searches.open(run, search, number);
		const { start, outcome } = tree;
		const sorted =
			order === 'created'
				? tree.nodes
				: [...tree.nodes].sort(order === 'value' ? byValue(tree) : (a, b) => b.visits - a.visits || a.id - b.id);
		const page = pageOf(sorted, cursor, limit);
		return {
			name,
			address: address(null),
			format: file.title,
			trees: file.trees.length,
			strategy: start?.strategy ?? null,
			policy: start?.policy.name ?? null,
			nodes: tree.nodeCount,
			result:
				outcome === null
					? null
					: { ...outcome, answer: outcome.answer === null ? null : quote(outcome.answer, excerpt) },
			unreadable: file.faults.slice(0, 20),
			...page,
			items: page.items.map((node) => ({
				address: address(node.id),
				...nodeFacts(tree, node),
				text: quote(node.text, excerpt),
			})),
		};
	},
});

export const readTreeNode = defineTool({
	name: 'read_tree_node',
	title: 'Read a tree node',
	description:
		'Read a node of a search tree: its full text, the completion up to it, its path from the root, scores, children, critiques and tool results.',
	input: v.object({
		...place,
		node: input.described(input.whole(0, 1e9), 'Node number.'),
		offset: v.optional(input.described(input.whole(0, 1e9), 'Character offset in the completion to start from.'), 0),
		characters: input.characters,
	}),
	async run({ run = null, search, tree: number, node: id, offset, characters }, { searches }) {
		const { tree, address } = await searches.open(run, search, number);
		const node = tree.node(id);
		if (node === undefined) {
			throw new Failure(
				'missing',
				`The tree has no node ${id}.`,
				`Its nodes are numbered from 0 to ${tree.nodes.length - 1}.`,
			);
		}
		const notes = tree.notesOf(id);
		return {
			address: address(id),
			...nodeFacts(tree, node),
			scores: Object.fromEntries(node.scores),
			tokens: node.tokens,
			logprob: node.logprob,
			path: tree.pathTo(id).slice(-200),
			text: quote(node.text, characters),
			completion: quote(tree.textOf(id), characters, offset),
			first_children: node.children.slice(0, maxChildren),
			notes: notes.slice(0, maxNotes).map((note) => quote(JSON.stringify(note), characters)),
			...(notes.length > maxNotes ? { more_notes: notes.length - maxNotes } : {}),
		};
	},
});
