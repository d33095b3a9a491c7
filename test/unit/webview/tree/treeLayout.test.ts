import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tree as d3Tree, hierarchy } from 'd3';
import { Random } from '../../../../src/base/random.ts';
import { SearchTree } from '../../../../src/core/search/searchTree.ts';
import { cameraAt, fitCamera, slowness, zoomLimits, zoomTo } from '../../../../webview/tree/draw/camera.ts';
import { clip } from '../../../../webview/tree/draw/densePainter.ts';
import { collapsing } from '../../../../webview/tree/layout/collapsing.ts';
import { layoutKinds } from '../../../../webview/tree/layout/layout.ts';
import { makeLayout } from '../../../../webview/tree/layout/makeLayout.ts';
import { spread } from '../../../../webview/tree/layout/spread.ts';
import { tidyBreadths } from '../../../../webview/tree/layout/tidyBreadths.ts';
import { visibleTree } from '../../../../webview/tree/layout/visibleTree.ts';
import { walk } from '../../../../webview/tree/treeWalk.ts';
import { treeEvents } from '../../../support/treeEvents.ts';

/** Builds a tree in which a function determines each node's parents; several parents make it a graph. */
function treeOf(count: number, parentsOf: (id: number) => number[]): SearchTree {
	const tree = new SearchTree();
	const events = treeEvents(
		Array.from({ length: count }, (_, id) => ({ t: 'node', at: id, id, parents: parentsOf(id), text: `node ${id}` })),
	);
	for (const event of events) assert.ok(tree.apply(event));
	return tree;
}

function randomTree(random: Random, count: number): SearchTree {
	const depthBias = random.next();
	return treeOf(count, (id) => (id === 0 ? [] : [Math.floor(id * (1 - (1 - depthBias) * random.next() ** 2) * 0.999)]));
}

const seeds = Array.from({ length: 20 }, (_, i) => i);

test('the tidy layout matches d3', () => {
	for (const seed of seeds) {
		const random = Random.of(seed, 'tidy');
		const { nodes } = randomTree(random, 1 + random.int(400));
		const visible = visibleTree(nodes);
		const breadths = tidyBreadths(visible);
		const root = hierarchy<number>(0, (id) =>
			nodes[id]?.children.length ? [...(nodes[id]?.children ?? [])] : undefined,
		);
		const laid = d3Tree<number>()
			.nodeSize([1, 1])
			.separation((a, b) => (a.parent === b.parent ? 1 : 1.3))(root);
		laid.each(({ data, x }) => {
			const ours = breadths[visible.placeOf[data] as number] as number;
			assert.ok(Math.abs(ours - (x - laid.x)) < 1e-6, `seed ${seed}, node ${data}: ${ours}, ${x - laid.x}`);
		});
	}
});

test('several trees are kept apart, and a chain of any depth can be laid out', () => {
	const several = visibleTree(treeOf(9, (id) => (id % 3 === 0 ? [] : [id - 1])).nodes);
	assert.deepEqual([...several.parent], [-1, 0, 1, -1, 3, 4, -1, 6, 7]);
	assert.deepEqual([...tidyBreadths(several)], [0, 0, 0, 1.3, 1.3, 1.3, 2.6, 2.6, 2.6]);
	const chain = treeOf(60_000, (id) => (id === 0 ? [] : [id - 1]));
	for (const kind of layoutKinds) {
		const layout = makeLayout(kind, chain.nodes, visibleTree(chain.nodes));
		assert.equal(layout.x.length, chain.nodes.length);
		assert.ok(Number.isFinite(layout.bounds.right) && Number.isFinite(layout.bounds.bottom), kind);
	}
});

test('hidden nodes are counted at the node that hides them, and none are lost', () => {
	for (const seed of seeds) {
		const random = Random.of(seed, 'visible');
		const { nodes } = randomTree(random, 2 + random.int(300));
		const closed = new Set(nodes.filter(() => random.next() < 0.2).map(({ id }) => id));
		const tree = visibleTree(nodes, { isCollapsed: (id) => closed.has(id) });
		const hidden = tree.hidden.reduce((sum, count) => sum + count, 0);
		assert.equal(tree.count + hidden, nodes.length);
		for (let place = 0; place < tree.count; place++) {
			const id = tree.ids[place] as number;
			assert.equal(tree.placeOf[id], place);
			const up = tree.parent[place] as number;
			assert.equal(up === -1 ? undefined : tree.ids[up], nodes[id]?.parents[0]);
			assert.ok(up < place);
			assert.equal(tree.hidden[place] === 0, !closed.has(id) || nodes[id]?.children.length === 0);
		}
		const wanted = visibleTree(nodes, { isWanted: ({ id }) => id === nodes.length - 1 });
		assert.equal(wanted.count, (nodes.at(-1)?.depth ?? 0) + 1);
	}
});

test('a large tree shows its largest branches, within a limit, and those the user opened', () => {
	const random = Random.of(3, 'collapse');
	const { nodes } = randomTree(random, 5000);
	const count = (chosen: ReadonlyMap<number, boolean>, open: readonly number[] = []): number =>
		visibleTree(nodes, { isCollapsed: collapsing(nodes, 'automatic', chosen, open, 300) }).count;
	const usual = count(new Map());
	assert.ok(usual > 20 && usual <= 300, `${usual}`);
	assert.equal(count(new Map([[0, false]])), 1);
	const deep = nodes.reduce((deepest, node) => (node.depth > deepest.depth ? node : deepest));
	const path: number[] = [];
	for (let id: number | undefined = deep.parents[0]; id !== undefined; id = nodes[id]?.parents[0]) path.push(id);
	const opened = visibleTree(nodes, { isCollapsed: collapsing(nodes, 'automatic', new Map(), path, 300) });
	assert.notEqual(opened.placeOf[deep.id], -1);
	assert.equal(visibleTree(nodes, { isCollapsed: collapsing(nodes, 'all', new Map()) }).count, 5000);
	const shallow = visibleTree(nodes, { isCollapsed: collapsing(nodes, 2, new Map()) });
	assert.equal(shallow.count, nodes.filter(({ depth }) => depth <= 2).length);
	const wide = treeOf(3000, (id) => (id === 0 ? [] : [0]));
	assert.equal(visibleTree(wide.nodes, { isCollapsed: collapsing(wide.nodes, 'automatic', new Map()) }).count, 3000);
});

test('no two nodes overlap in any layout', () => {
	for (const seed of seeds.slice(0, 8)) {
		const random = Random.of(seed, 'apart');
		const { nodes } = randomTree(random, 200);
		const tree = visibleTree(nodes);
		for (const kind of layoutKinds) {
			const { x, y, bounds } = makeLayout(kind, nodes, tree);
			for (let a = 0; a < tree.count; a++) {
				const [ax, ay] = [x[a] as number, y[a] as number];
				assert.ok(ax >= bounds.left && ax <= bounds.right && ay >= bounds.top && ay <= bounds.bottom);
				for (let b = a + 1; b < tree.count; b++) {
					const distance = Math.hypot(ax - (x[b] as number), ay - (y[b] as number));
					assert.ok(distance > 8, `${kind}, seed ${seed}: ${a} and ${b} are ${distance} apart`);
				}
			}
		}
	}
});

test('a graph has layers with each node after all of its parents, and long edges run between nodes', () => {
	for (const seed of seeds.slice(0, 10)) {
		const random = Random.of(seed, 'graph');
		const { nodes } = treeOf(40, (id) =>
			id === 0 ? [] : [...new Set(Array.from({ length: 1 + random.int(3) }, () => random.int(id)))],
		);
		const tree = visibleTree(nodes);
		const { x, y, links, bends } = makeLayout('layered', nodes, tree);
		const at = (id: number): number => x[tree.placeOf[id] as number] as number;
		for (const { id, parents } of nodes) for (const parent of parents) assert.ok(at(id) > at(parent));
		assert.equal(
			links.length,
			nodes.reduce((sum, { parents }) => sum + Math.max(0, parents.length - 1), 0),
		);
		for (const [to, points] of bends) {
			assert.ok(points.length >= 2 && points.length % 2 === 0);
			for (let i = 0; i < points.length; i += 2) assert.ok((points[i] as number) < (x[to] as number));
		}
		for (let a = 0; a < tree.count; a++) {
			for (let b = 0; b < a; b++) {
				if (x[a] === x[b]) assert.ok(Math.abs((y[a] as number) - (y[b] as number)) >= 45.9);
			}
		}
	}
});

test('positions are as close to the desired ones as order and spacing allow', () => {
	assert.deepEqual(spread([0, 0, 0], 1), [-1, 0, 1]);
	assert.deepEqual(spread([5, 1, 10], 2), [2, 4, 10]);
	for (const seed of seeds) {
		const random = Random.of(seed, 'spread');
		const wishes = Array.from({ length: 1 + random.int(8) }, () => random.next() * 6);
		const found = spread(wishes, 1);
		const cost = (places: readonly number[]): number =>
			places.reduce((sum, place, i) => sum + (place - (wishes[i] as number)) ** 2, 0);
		for (let i = 1; i < found.length; i++) assert.ok((found[i] as number) - (found[i - 1] as number) > 1 - 1e-9);
		for (let trial = 0; trial < 200; trial++) {
			const other = found.map((place) => place + (random.next() - 0.5) * 0.4);
			const isAllowed = other.every((place, i) => i === 0 || place - (other[i - 1] as number) >= 1);
			if (isAllowed) assert.ok(cost(other) >= cost(found) - 1e-9);
		}
	}
});

test('fitting shows the whole tree, and zooming keeps the point under the pointer fixed', () => {
	const margin = { left: 30, top: 30, right: 100, bottom: 30 };
	const size = { width: 900, height: 600 };
	for (const seed of seeds.slice(0, 8)) {
		const random = Random.of(seed, 'camera');
		const { nodes } = randomTree(random, 1 + random.int(1500));
		for (const kind of ['tidy', 'down', 'radial', 'timeline', 'layered'] as const) {
			const layout = makeLayout(kind, nodes, visibleTree(nodes));
			const slow = slowness(layout, size, margin);
			assert.ok(slow > 0 && slow <= 1, `${slow}`);
			const camera = fitCamera(layout, size, slow, margin);
			for (let i = 0; i < layout.x.length; i++) {
				const [x, y] = [
					(layout.x[i] as number) * camera.kx + camera.tx,
					(layout.y[i] as number) * camera.ky + camera.ty,
				];
				assert.ok(x >= -1 && x <= size.width + 1 && y >= -1 && y <= size.height + 1, `${kind}: ${x}, ${y}`);
			}
			const k = Math.min(zoomLimits.max, camera.k * (0.5 + random.next() * 3));
			const [px, py] = [random.next() * 900, random.next() * 600];
			const zoomed = zoomTo(camera, k, px, py, layout.slow, slow);
			assert.ok(
				Math.abs((px - camera.tx) / camera.kx - (px - zoomed.tx) / zoomed.kx) < (1e-6 * size.width) / camera.kx,
			);
			assert.ok(
				Math.abs((py - camera.ty) / camera.ky - (py - zoomed.ty) / zoomed.ky) < (1e-6 * size.height) / camera.ky,
			);
		}
	}
	assert.deepEqual(cameraAt(0.25, 1, 2, 'x', 0.5), { k: 0.25, kx: 0.5, ky: 0.25, tx: 1, ty: 2 });
});

test('a line is clipped at the edges of the picture', () => {
	assert.deepEqual(clip(-10, 5, 20, 5, 10, 10), [0, 5, 10, 5]);
	assert.equal(clip(-5, 0, -1, 10, 10, 10), null);
	assert.equal(clip(-5, 8, 5, 18, 10, 10), null);
	assert.deepEqual(clip(2, 3, 4, 5, 10, 10), [2, 3, 4, 5]);
});

test('arrow keys move to parents, children, siblings and cousins', () => {
	// 0 -> 1, 2; 1 -> 3, 4; 2 -> 5
	const { nodes } = treeOf(6, (id) => [[], [0], [0], [1], [1], [2]][id] as number[]);
	const layout = makeLayout('tidy', nodes, visibleTree(nodes));
	const go = (id: number, direction: Parameters<typeof walk>[2]): number | undefined => {
		const place = walk(layout, layout.tree.placeOf[id] as number, direction);
		return place === -1 ? undefined : layout.tree.ids[place];
	};
	assert.deepEqual(
		[go(0, 'child'), go(1, 'next'), go(4, 'next'), go(5, 'previous'), go(5, 'parent'), go(4, 'root'), go(3, 'child')],
		[1, 2, 5, 4, 2, 0, undefined],
	);
	assert.equal(walk(layout, -1, 'next'), 0);
});
