import type { Layout } from './layout/layout.ts';

export type Direction = 'parent' | 'child' | 'previous' | 'next' | 'root' | 'last';

/**
 * Returns the place reached from another in the given direction, or -1. At the end of a group of siblings, moves on to
 * cousins.
 */
export function walk(layout: Layout, from: number, direction: Direction): number {
	const { parent, depth, count } = layout.tree;
	if (count === 0) return -1;
	if (from < 0) return 0;
	switch (direction) {
		case 'root': {
			let at = from;
			while (parent[at] !== -1) at = parent[at] as number;
			return at;
		}
		case 'parent':
			return parent[from] as number;
		case 'child':
			return from + 1 < count && parent[from + 1] === from ? from + 1 : -1;
		// In preorder, neighbors on a level are the closest nodes with the same depth.
		case 'previous':
			for (let at = from - 1; at >= 0; at--) if (depth[at] === depth[from]) return at;
			return -1;
		case 'next':
			for (let at = from + 1; at < count; at++) if (depth[at] === depth[from]) return at;
			return -1;
		case 'last':
			return count - 1;
	}
}

/** Returns what an arrow key means in a layout. For example, Right moves to a child if children are on the right. */
export function directionOf(key: string, layout: Layout): Direction | null {
	const down = layout.kind === 'down';
	switch (key) {
		case 'ArrowRight':
			return down ? 'next' : 'child';
		case 'ArrowLeft':
			return down ? 'previous' : 'parent';
		case 'ArrowDown':
			return down ? 'child' : 'next';
		case 'ArrowUp':
			return down ? 'parent' : 'previous';
		case 'Home':
			return 'root';
		default:
			return null;
	}
}
