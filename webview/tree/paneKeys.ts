import type { Layout } from './layout/layout.ts';
import { type Direction, directionOf } from './treeWalk.ts';

/** Keyboard action in a tree pane. */
export type PaneAction =
	| { readonly type: 'walk'; readonly direction: Direction }
	| { readonly type: 'pan'; readonly dx: number; readonly dy: number }
	| { readonly type: 'zoom'; readonly factor: number }
	| { readonly type: 'toggle' | 'fit' | 'best' };

const pans: Readonly<Record<string, readonly [number, number]>> = {
	ArrowLeft: [80, 0],
	ArrowRight: [-80, 0],
	ArrowUp: [0, 80],
	ArrowDown: [0, -80],
};

/** Returns null if the key has no action in the pane. */
export function paneAction(event: KeyboardEvent, layout: Layout): PaneAction | null {
	if (event.ctrlKey || event.altKey || event.metaKey) return null;
	const pan = event.shiftKey ? pans[event.key] : undefined;
	if (pan !== undefined) return { type: 'pan', dx: pan[0], dy: pan[1] };
	const direction = directionOf(event.key, layout);
	if (direction !== null) return { type: 'walk', direction };
	switch (event.key) {
		case 'Enter':
		case ' ':
			return { type: 'toggle' };
		case '+':
		case '=':
			return { type: 'zoom', factor: 1.4 };
		case '-':
			return { type: 'zoom', factor: 1 / 1.4 };
		case '0':
			return { type: 'fit' };
		case 'End':
			return { type: 'best' };
		default:
			return null;
	}
}
