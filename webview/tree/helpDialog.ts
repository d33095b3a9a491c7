import { button } from '../lib/controls.ts';
import { showDialog } from '../lib/dialog.ts';
import { element } from '../lib/dom.ts';

const keys: readonly (readonly [keys: string, what: string])[] = [
	['g', 'Focus the tree'],
	['→ ←', 'Child (expands collapsed nodes), parent'],
	['↑ ↓', 'Previous, next sibling (swapped with ← → in top-down layouts)'],
	['Home, End', 'Root, end of the best path'],
	['Enter or Space', 'Expand or collapse'],
	['Shift + arrows', 'Pan'],
	['+ − 0', 'Zoom in, zoom out, fit'],
	['/', 'Search (Enter and Shift + Enter move through the matches)'],
	['n, Shift + n', 'Next match, previous match'],
	['[ ]', 'Previous event, next event'],
	['p', 'Play or pause replay'],
	['l', 'Follow the end of the log'],
	['?', 'Keyboard shortcuts'],
];

/** Keyboard shortcuts dialog. */
export class HelpDialog {
	readonly element: HTMLDialogElement;

	constructor() {
		this.element = element(
			'dialog',
			{ class: 'help', aria: { label: 'Keyboard shortcuts' } },
			element('h2', null, 'Keyboard shortcuts'),
			element(
				'dl',
				{ class: 'facts-list' },
				...keys.flatMap(([key, what]) => [element('dt', null, element('kbd', null, key)), element('dd', null, what)]),
			),
			element(
				'p',
				{ class: 'quiet' },
				'Mouse: scroll to zoom, drag to pan, click to select a node, double-click to expand or collapse it.',
			),
			button({ label: 'Close', onClick: () => this.element.close() }).element,
		);
	}

	show(): void {
		showDialog(this.element);
	}
}
