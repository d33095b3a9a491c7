import type { SearchTree } from '../../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../../src/core/search/treeNode.ts';
import { type NodeRole, nodeRoles, type TreeEvent } from '../../../src/protocol/treeLog.ts';
import { sameAnswer } from '../answerGroups.ts';
import type { Layout } from '../layout/layout.ts';
import { type Coloring, measureOf, measureRange, type Range } from '../nodeMeasures.ts';
import { shadeOf } from './palette.ts';

/** Node marks, as bit flags. */
export const mark = {
	best: 1,
	final: 2,
	right: 4,
	pruned: 8,
	merged: 16,
	person: 32,
	hit: 64,
	collapsed: 128,
	/** Answer differs from the gold answer, if known. A low score alone does not count. */
	wrong: 256,
	/** Has the same answer as the selected node. */
	same: 512,
} as const;

/** Number of edge width steps. */
export const widths = 5;

/** Everything needed to draw a tree at one replay position, indexed by place, except for the camera and the pointer. */
export interface Scene {
	readonly layout: Layout;
	readonly tree: SearchTree;
	/** Color scale step, or role index when coloring by role, or -1 if there is no value. */
	readonly shade: Int16Array;
	readonly marks: Uint16Array;
	/** Edge width step, from 0 to {@link widths} - 1. */
	readonly width: Uint8Array;
	readonly coloring: Coloring;
	readonly range: Range | null;
	/** Places affected by the latest event, in path order. */
	readonly touched: readonly number[];
	readonly touchedBy: TreeEvent['t'] | null;
}

export interface SceneOptions {
	readonly coloring: Coloring;
	readonly widths: boolean;
	readonly hits: readonly number[];
	readonly right: ReadonlySet<number>;
	/** Answer of the selected node in either tree, or null if it has none. */
	readonly answer: string | null;
	/** Whether there is a gold answer, in which case other answers count as wrong. */
	readonly isJudged: boolean;
	/** The latest event, or null if it should not be highlighted. */
	readonly event: TreeEvent | null;
	/** Overrides the tree's own color range, for example with the range shared by two compared trees. */
	readonly range?: Range | null;
}

const roleNumbers = new Map<NodeRole, number>(nodeRoles.map((role, i) => [role, i]));

export function sceneOf(layout: Layout, tree: SearchTree, options: SceneOptions): Scene {
	const { coloring, hits, right, isJudged, event } = options;
	const { count, ids, hidden, placeOf } = layout.tree;
	const range = coloring === 'role' ? null : (options.range ?? measureRange(tree, coloring));
	const best = new Set(tree.outcome?.best ?? []);
	const found = new Set(hits);
	const shade = new Int16Array(count).fill(-1);
	const marks = new Uint16Array(count);
	const width = new Uint8Array(count);
	const { nodes } = tree;
	let max = 1;
	for (const { visits } of nodes) if (visits > max) max = visits;
	for (let place = 0; place < count; place++) {
		const id = ids[place] as number;
		// Nodes not yet created at this replay position have no marks and are not drawn.
		const node = nodes[id];
		if (node === undefined) continue;
		shade[place] =
			coloring === 'role' ? (roleNumbers.get(node.role) as number) : shadeOf(measureOf(tree, node, coloring), range);
		if (options.widths && max > 1 && node.visits > 0) {
			width[place] = Math.min(widths - 1, Math.floor((Math.log(node.visits) / Math.log(max)) * widths));
		}
		let bits = 0;
		if (best.has(id)) bits |= mark.best;
		if (node.final || node.answer !== null) bits |= mark.final;
		if (right.has(id)) bits |= mark.right;
		else if (isJudged && node.answer !== null) bits |= mark.wrong;
		if (node.pruned !== null) bits |= mark.pruned;
		if (node.mergedInto !== null) bits |= mark.merged;
		if (node.by === 'person') bits |= mark.person;
		if (found.has(id)) bits |= mark.hit;
		if (options.answer !== null && node.answer !== null && sameAnswer(node.answer, options.answer)) bits |= mark.same;
		if ((hidden[place] as number) > 0) bits |= mark.collapsed;
		marks[place] = bits;
	}
	const touched = event === null ? [] : touchedBy(event).map((id) => placeOf[id] ?? -1);
	return {
		layout,
		tree,
		shade,
		marks,
		width,
		coloring,
		range,
		touched: touched.filter((place) => place !== -1),
		touchedBy: event?.t ?? null,
	};
}

/** Returns the nodes affected by an event. */
export function touchedBy(event: TreeEvent): readonly number[] {
	switch (event.t) {
		case 'select':
		case 'visit':
			return event.path;
		case 'node':
		case 'tokens':
		case 'score':
		case 'prune':
		case 'restore':
		case 'critique':
		case 'tool':
		case 'reference':
			return [event.id];
		case 'merge':
			return [event.id, event.into];
		case 'fault':
			return event.id === null ? [] : [event.id];
		case 'resume':
			return event.node === null ? [] : [event.node];
		case 'end':
			return event.best ?? [];
		case 'start':
			return [];
	}
}

export function isBorn(scene: Scene, place: number): boolean {
	return (scene.layout.tree.ids[place] as number) < scene.tree.nodes.length;
}

export function nodeAt(scene: Scene, place: number): TreeNode | undefined {
	return scene.tree.nodes[scene.layout.tree.ids[place] as number];
}
