import { button } from '../lib/controls.ts';
import { showDialog } from '../lib/dialog.ts';
import { element } from '../lib/dom.ts';

const keys: readonly (readonly [keys: string, what: string])[] = [
	['g', 'To the tree'],
	['→ ←', 'Child (opens what is closed), parent'],
	['↑ ↓', 'Sibling before, sibling after; downwards layouts turn these'],
	['Home, End', 'Root, end of the best path'],
	['Enter or Space', 'Open or close what is below'],
	['Shift + arrows', 'Move the picture'],
	['+ − 0', 'Zoom in, zoom out, show all of it'],
	['/', 'Search; Enter and Shift + Enter go through the hits'],
	['n, Shift + n', 'Next hit, previous hit'],
	['[ ]', 'One event back, one event on'],
	['p', 'Play or pause the replay'],
	['l', 'Follow the end of the log'],
	['?', 'This help'],
];

/** The keys of the page. */
export class HelpDialog {
	readonly element: HTMLDialogElement;

	constructor() {
		this.element = element(
			'dialog',
			{ class: 'help', aria: { label: 'Keys' } },
			element('h2', null, 'Keys'),
			element(
				'dl',
				{ class: 'facts-list' },
				...keys.flatMap(([key, what]) => [element('dt', null, element('kbd', null, key)), element('dd', null, what)]),
			),
			element(
				'p',
				{ class: 'quiet' },
				'With the mouse: the wheel zooms, dragging moves, a click chooses a node, a double click opens or closes it.',
			),
			button({ label: 'Close', onClick: () => this.element.close() }).element,
		);
	}

	show(): void {
		showDialog(this.element);
	}
}
