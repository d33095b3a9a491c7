import { formatCounted } from '../../../base/format.ts';
import { field, finite, isTable, listField, numberField, type Table, textField } from './foreignJson.ts';
import { type GraphEdge, inTreeOrder } from './graphOrder.ts';
import { TreeBuilder } from './treeBuilder.ts';
import type { ReadTree, TreeFault, TreeFormat, TreeLimits } from './treeFormat.ts';

/**
 * maitrix-org/llm-reasoners, `TreeLog` (reasoners/visualization/tree_log.py): `logs` is a list of snapshots, one per
 * MCTS iteration, or a single one for beam search and DFS. A node's Q and reward are stored on its incoming edge. The
 * snapshots are combined into one growing tree, with the snapshot number as the time.
 */
export const llmReasonersFormat: TreeFormat = {
	name: 'llm-reasoners',
	title: 'LLM Reasoners',
	looksFor: 'LLM Reasoners: an object with a list of logs that have nodes and edges',
	recognize: (value) => (listField(value, 'logs') ?? []).some(isSnapshot),
	trees: (value, limits) => [readTree(listField(value, 'logs') ?? [], limits)],
};

const isSnapshot = (value: unknown): boolean => isTable(field(value, 'nodes')) && isTable(field(value, 'edges'));

interface Edge extends GraphEdge {
	readonly data: unknown;
}

interface Snapshot {
	/** Nodes by key, in file order. */
	readonly nodes: ReadonlyMap<string, Table>;
	readonly edges: ReadonlyMap<string, Edge>;
}

function readTree(logs: readonly unknown[], limits: TreeLimits): ReadTree | TreeFault {
	const snapshots = logs.map(readSnapshot);
	const fit = snapshots.filter((snapshot) => typeof snapshot !== 'string');
	const last = fit.at(-1);
	if (last === undefined) return { name: 'tree', fault: 'has no snapshot with nodes' };
	const byQ = fit.some(({ edges }) => [...edges.values()].some(({ data }) => numberField(data, 'Q') !== null));
	const measure = byQ ? 'Q' : 'reward';
	const tree = new TreeBuilder({
		format: llmReasonersFormat.name,
		name: 'tree',
		strategy: byQ ? 'mcts' : 'beam',
		// Shows the problem at the root if the program stored it in the node data.
		prompt: textsOf([...last.nodes.values()][0] ?? {}),
		measure,
	});
	const ids = new Map<string, number>();
	const values = new Map<string, number>();
	const texts = textsByNode(fit);
	let left = 0;
	let gone = 0;
	let before: Snapshot | null = null;
	const absent = new Set<string>();
	for (const [i, snapshot] of snapshots.entries()) {
		if (typeof snapshot === 'string') {
			tree.fault(`Snapshot ${i + 1} ${snapshot}.`);
			continue;
		}
		tree.at = i;
		const incoming = new Map<string, Edge[]>();
		for (const edge of snapshot.edges.values()) {
			if (!snapshot.nodes.has(edge.source) || !snapshot.nodes.has(edge.target)) continue;
			const list = incoming.get(edge.target);
			if (list === undefined) incoming.set(edge.target, [edge]);
			else list.push(edge);
		}
		const { order, cut } = inTreeOrder([...snapshot.nodes.keys()], incoming);
		if (cut > 0) tree.fault(`Snapshot ${i + 1} has a cycle; ${formatCounted(cut, 'edge')} omitted.`);
		for (const { key, parents } of order) {
			if (ids.has(key)) continue;
			if (tree.nodes >= limits.nodes) {
				left++;
				continue;
			}
			const known = parents.map((parent) => ids.get(parent)).filter((id) => id !== undefined);
			const text = texts.get(key) ?? '';
			ids.set(key, tree.node({ parents: known, text, ...(text === '' ? { label: `node ${key}` } : {}) }));
		}
		tree.forgetBest();
		for (const { target, data } of snapshot.edges.values()) {
			const id = ids.get(target);
			if (id === undefined || !isTable(data)) continue;
			// Adds the main metric last, because the last recorded value is displayed first.
			for (const name of [...scoreNames(data, measure), measure]) {
				const value = numberField(data, name);
				if (value === null) continue;
				if (name === measure) tree.value(id, value);
				const key = `${target}\n${name}`;
				if (values.get(key) === value) continue;
				values.set(key, value);
				tree.score(id, name, value);
			}
		}
		for (const key of before?.nodes.keys() ?? []) {
			const id = ids.get(key);
			if (id === undefined || snapshot.nodes.has(key)) continue;
			absent.add(key);
			gone++;
			tree.prune(id, `not in snapshot ${i + 1}`);
		}
		for (const key of absent.size === 0 ? [] : snapshot.nodes.keys()) {
			if (absent.delete(key)) tree.restore(ids.get(key) as number);
		}
		before = snapshot;
		const path = selectedPath(snapshot, ids);
		if (path.length > 1) tree.select(path);
	}
	tree.count('snapshots', snapshots.length);
	tree.count(
		'unexpanded',
		[...last.nodes.values()].filter((node) => Object.keys(asTable(field(node, 'data'))).length === 0).length,
	);
	if (gone > 0)
		tree.fault(
			`${formatCounted(gone, 'node from earlier snapshots is', 'nodes from earlier snapshots are')} missing from later ones.`,
		);
	if (left > 0) tree.fault(`Showing the first ${limits.nodes} nodes.`);
	return tree.nodes === 0 ? { name: 'tree', fault: 'has no nodes' } : tree.done();
}

function readSnapshot(value: unknown): Snapshot | string {
	const [nodes, edges] = [field(value, 'nodes'), field(value, 'edges')];
	if (!isTable(nodes) || !isTable(edges)) return 'lacks nodes or edges';
	const read = new Map<string, Edge>();
	for (const [key, edge] of Object.entries(edges)) {
		const [source, target] = [keyOf(field(edge, 'source')), keyOf(field(edge, 'target'))];
		if (source !== null && target !== null) read.set(key, { source, target, data: field(edge, 'data') });
	}
	return {
		nodes: new Map(Object.entries(nodes).filter((entry): entry is [string, Table] => isTable(entry[1]))),
		edges: read,
	};
}

const keyOf = (value: unknown): string | null =>
	typeof value === 'string' ? value : finite(value) === null ? null : String(value);
const asTable = (value: unknown): Table => (isTable(value) ? value : {});

const scoreNames = (data: Table, measure: string): string[] =>
	Object.keys(data)
		.filter((name) => name !== measure && finite(data[name]) !== null)
		.slice(0, 20);

/**
 * Returns the text that each node adds: the action that leads to it or, if there is none, its data from the last
 * snapshot that contains any.
 */
function textsByNode(snapshots: readonly Snapshot[]): Map<string, string> {
	const texts = new Map<string, string>();
	for (const { nodes, edges } of snapshots) {
		for (const [key, node] of nodes) {
			const text = textsOf(node);
			if (text !== '') texts.set(key, text);
		}
		for (const { target, data } of edges.values()) {
			const action = textField(data, 'action');
			if (action !== null && action !== '') texts.set(target, action);
		}
	}
	return texts;
}

function textsOf(node: Table): string {
	return Object.entries(asTable(field(node, 'data')))
		.filter(([, value]) => typeof value === 'string' || finite(value) !== null)
		.map(([name, value]) => (/^\d+$/.test(name) ? String(value) : `${name}: ${value}`))
		.join('\n');
}

/** Follows the selected edges, starting at the root. */
function selectedPath({ nodes, edges }: Snapshot, ids: ReadonlyMap<string, number>): number[] {
	const path: number[] = [];
	const seen = new Set<string>();
	const targets = new Set([...edges.values()].map(({ target }) => target));
	let at = [...nodes.keys()].find((key) => !targets.has(key));
	while (at !== undefined && !seen.has(at)) {
		seen.add(at);
		const id = ids.get(at);
		if (id === undefined) break;
		path.push(id);
		const chosen = keyOf(field(nodes.get(at), 'selected_edge'));
		const edge: Edge | undefined = chosen === null ? undefined : edges.get(chosen);
		at = edge?.source === at ? edge.target : undefined;
	}
	return path;
}
