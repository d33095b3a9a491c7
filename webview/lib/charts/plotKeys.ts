import type { PlotLink } from './plotLink.ts';
import { rowsOfRange } from './rowRange.ts';

export type PlotAction =
	| { readonly kind: 'move'; readonly rows: number }
	| { readonly kind: 'page'; readonly pages: number }
	| { readonly kind: 'edge'; readonly end: boolean }
	| { readonly kind: 'zoom'; readonly factor: number }
	| { readonly kind: 'reset' | 'clear' | 'open' | 'pin' };

export interface KeyPress {
	readonly key: string;
	readonly shift: boolean;
	readonly control: boolean;
}

/** Returns the action for a key on a focused chart; null if the key is not handled. */
export function plotActionOf({ key, shift, control }: KeyPress): PlotAction | null {
	if (control) return null;
	switch (key) {
		case 'ArrowLeft':
			return { kind: 'move', rows: shift ? -10 : -1 };
		case 'ArrowRight':
			return { kind: 'move', rows: shift ? 10 : 1 };
		case 'PageUp':
			return { kind: 'page', pages: -0.1 };
		case 'PageDown':
			return { kind: 'page', pages: 0.1 };
		case 'Home':
			return { kind: 'edge', end: false };
		case 'End':
			return { kind: 'edge', end: true };
		case '+':
		case '=':
			return { kind: 'zoom', factor: 0.5 };
		case '-':
		case '_':
			return { kind: 'zoom', factor: 2 };
		case '0':
			return { kind: 'reset' };
		case 'Escape':
			return { kind: 'clear' };
		case ' ':
			return { kind: 'pin' };
		case 'Enter':
			return { kind: 'open' };
		default:
			return null;
	}
}

/** Performs an action on the linked charts; the app handles `open`. */
export function actOnLink(link: PlotLink, action: PlotAction): void {
	switch (action.kind) {
		case 'move':
			link.moveCursor(action.rows);
			break;
		case 'page': {
			const { from, to } = rowsOfRange(link.x, link.range);
			const rows = Math.max(1, Math.round((to - from) * Math.abs(action.pages)));
			link.moveCursor(action.pages < 0 ? -rows : rows);
			break;
		}
		case 'edge': {
			const { from, to } = rowsOfRange(link.x, link.range);
			link.cursorTo(action.end ? to - 1 : from);
			break;
		}
		case 'zoom':
			link.zoom(action.factor);
			break;
		case 'reset':
			link.reset();
			break;
		case 'clear':
			if (link.pinned !== null) link.pin(null);
			link.setCursor(null);
			break;
		case 'pin':
			link.pin(link.cursor ?? link.x.length - 1);
			break;
		case 'open':
			break;
	}
}
