import { answerGroups } from './answerGroups.ts';
import { type Scene, sceneOf } from './draw/scene.ts';
import { collapsing } from './layout/collapsing.ts';
import type { Layout, LayoutKind } from './layout/layout.ts';
import { makeLayout } from './layout/makeLayout.ts';
import { visibleTree } from './layout/visibleTree.ts';
import { wantedBy } from './nodeFilter.ts';
import { type Coloring, measureRange, type Range } from './nodeMeasures.ts';
import type { TreeModel } from './treeModel.ts';
import type { TreeSide } from './treeSide.ts';

/**
 * Computes a side's layout from all its events, regardless of the replay position, with the current folds and filter.
 */
export function layoutOfSide({ options, selection, folds }: TreeModel, side: TreeSide, kind: LayoutKind): Layout {
	const { latest } = side;
	const selected = selection?.side === side.name ? selection.id : null;
	const open = (latest.outcome?.best ?? []).slice(0, -1);
	if (selected !== null) open.push(...latest.pathTo(selected).slice(0, -1));
	const isWanted = wantedBy(options.filter, latest);
	const tree = visibleTree(latest.nodes, {
		isCollapsed: collapsing(latest.nodes, options.detail, folds[side.name], open),
		...(isWanted === undefined ? {} : { isWanted }),
	});
	return makeLayout(kind, latest.nodes, tree, options.timeUnit);
}

/** Computes a side's appearance at the current replay position. */
export function sceneOfSide(model: TreeModel, side: TreeSide, layout: Layout, coloring: Coloring): Scene {
	const { hits, options, current, selected } = model;
	const tree = side.shown;
	const groups = answerGroups(tree);
	const range = sharedRange(model, coloring);
	return sceneOf(layout, tree, {
		coloring,
		widths: options.widths,
		hits: current === side ? hits : [],
		right: new Set(groups.filter(({ correct }) => correct).flatMap(({ nodes }) => nodes)),
		answer: selected?.answer ?? null,
		isJudged: groups.some(({ correct }) => correct !== null),
		event: side.atEnd ? null : side.lastEvent,
		...(range === undefined ? {} : { range }),
	});
}

/** Returns a shared color range for two compared trees, or undefined if each uses its own. */
function sharedRange({ main, other }: TreeModel, coloring: Coloring): Range | undefined {
	if (coloring === 'role' || main === null || other === null) return undefined;
	const ranges = [main, other].map(({ shown }) => measureRange(shown, coloring)).filter((range) => range !== null);
	if (ranges.length === 0) return undefined;
	return {
		min: Math.min(...ranges.map(({ min }) => min)),
		max: Math.max(...ranges.map(({ max }) => max)),
	};
}
