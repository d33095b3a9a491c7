import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { boundsOf, type Layout, type Link } from './layout.ts';
import { spread } from './spread.ts';
import type { VisibleTree } from './visibleTree.ts';

const level = 220;
const row = 46;
/** Maximum number of bends. Above this number, edges that cross a level get no bend point there. */
const maxBends = 6000;
const sweeps = 8;

interface Edge {
	readonly from: number;
	readonly to: number;
	readonly kind: 'first' | Link['kind'];
	readonly bends: number[];
}

/**
 * Layered layout for graphs. Each node is in the layer after its deepest parent, and edges that cross a layer get a
 * bend point in it. Layers are ordered by the barycenter of neighbors (Sugiyama, Tagawa and Toda 1981), and nodes are
 * placed as close to their neighbors as the layer allows.
 */
export function layeredLayout(nodes: readonly TreeNode[], tree: VisibleTree): Layout {
	const edges = edgesOf(nodes, tree);
	const layer = layersOf(tree, edges);
	const layers: number[][] = [];
	const neighbors: { readonly up: number[]; readonly down: number[] }[] = [];
	const at: number[] = [];
	const add = (depth: number): number => {
		const id = at.length;
		at.push(depth);
		neighbors.push({ up: [], down: [] });
		while (layers.length <= depth) layers.push([]);
		(layers[depth] as number[]).push(id);
		return id;
	};
	for (let place = 0; place < tree.count; place++) add(layer[place] as number);
	const join = (a: number, b: number): void => {
		neighbors[a]?.down.push(b);
		neighbors[b]?.up.push(a);
	};
	let bends = 0;
	for (const edge of edges) {
		const [from, to] = [layer[edge.from] as number, layer[edge.to] as number];
		const step = Math.sign(to - from);
		let last = edge.from;
		const passes = Math.max(0, Math.abs(to - from) - 1);
		if (bends + passes <= maxBends) {
			bends += passes;
			for (let depth = from + step; step !== 0 && depth !== to; depth += step) {
				const bend = add(depth);
				edge.bends.push(bend);
				if (step > 0) join(last, bend);
				else join(bend, last);
				last = bend;
			}
		}
		if (step > 0) join(last, edge.to);
		else if (step < 0) join(edge.to, last);
	}
	const across = arrange(layers, neighbors);
	const x = Float64Array.from({ length: tree.count }, (_, place) => (layer[place] as number) * level);
	const y = Float64Array.from({ length: tree.count }, (_, place) => (across[place] as number) * row);
	const points = (bent: readonly number[]): number[] =>
		bent.flatMap((id) => [(at[id] as number) * level, (across[id] as number) * row]);
	return {
		kind: 'layered',
		tree,
		x,
		y,
		bounds: boundsOf(x, y),
		slow: null,
		edge: 'right',
		labelWidth: level - 30,
		rowHeight: row / 2,
		links: edges.flatMap(({ kind, from, to, bends: bent }) =>
			kind === 'first' ? [] : [{ from, to, kind, bends: bent.length === 0 ? null : points(bent) }],
		),
		bends: new Map(
			edges
				.filter(({ kind, bends: bent }) => kind === 'first' && bent.length > 0)
				.map(({ to, bends: bent }) => [to, points(bent)]),
		),
		axis: null,
	};
}

function edgesOf(nodes: readonly TreeNode[], tree: VisibleTree): Edge[] {
	const edges: Edge[] = [];
	for (let to = 0; to < tree.count; to++) {
		const { parents, mergedInto } = nodes[tree.ids[to] as number] as TreeNode;
		for (let i = 0; i < parents.length; i++) {
			const from = tree.placeOf[parents[i] as number] ?? -1;
			if (from !== -1) edges.push({ from, to, kind: i === 0 ? 'first' : 'parent', bends: [] });
		}
		const into = mergedInto === null ? -1 : (tree.placeOf[mergedInto] ?? -1);
		if (into !== -1) edges.push({ from: to, to: into, kind: 'merge', bends: [] });
	}
	return edges;
}

/**
 * Returns the longest path length from a root for each node. Parents are older than children, so node IDs are a
 * topological order.
 */
function layersOf(tree: VisibleTree, edges: readonly Edge[]): Int32Array {
	const layer = new Int32Array(tree.count);
	const incoming = new Map<number, number[]>();
	for (const { from, to, kind } of edges) {
		if (kind === 'merge') continue;
		const list = incoming.get(to);
		if (list) list.push(from);
		else incoming.set(to, [from]);
	}
	const byAge = Array.from({ length: tree.count }, (_, place) => place);
	byAge.sort((a, b) => (tree.ids[a] as number) - (tree.ids[b] as number));
	for (const place of byAge) {
		for (const from of incoming.get(place) ?? []) {
			layer[place] = Math.max(layer[place] as number, (layer[from] as number) + 1);
		}
	}
	return layer;
}

/** Assigns positions across the layers, in rows. Sorts the layers in place. */
function arrange(
	layers: number[][],
	neighbors: readonly { readonly up: readonly number[]; readonly down: readonly number[] }[],
): Float64Array {
	const across = new Float64Array(neighbors.length);
	const number = (ids: readonly number[]): void =>
		ids.forEach((id, i) => {
			across[id] = i - (ids.length - 1) / 2;
		});
	const mean = (ids: readonly number[], otherwise: number): number =>
		ids.length === 0 ? otherwise : ids.reduce((sum, id) => sum + (across[id] as number), 0) / ids.length;
	for (const ids of layers) number(ids);
	for (let sweep = 0; sweep < sweeps; sweep++) {
		const isDown = sweep % 2 === 0;
		for (const ids of isDown ? layers : layers.toReversed()) {
			const wish = new Map(
				ids.map((id) => {
					const { up, down } = neighbors[id] as { up: readonly number[]; down: readonly number[] };
					return [id, mean(isDown ? up : down, across[id] as number)];
				}),
			);
			ids.sort((a, b) => (wish.get(a) as number) - (wish.get(b) as number));
			number(ids);
		}
	}
	for (let sweep = 0; sweep < sweeps; sweep++) {
		for (const ids of sweep % 2 === 0 ? layers : layers.toReversed()) {
			const wishes = ids.map((id) => {
				const { up, down } = neighbors[id] as { up: readonly number[]; down: readonly number[] };
				return mean([...up, ...down], across[id] as number);
			});
			spread(wishes, 1).forEach((position, i) => {
				across[ids[i] as number] = position;
			});
		}
	}
	return across;
}
