import { button } from '../lib/controls.ts';
import { showDialog } from '../lib/dialog.ts';
import { element } from '../lib/dom.ts';
import { bindings } from './keys.ts';

/** Modal dialog that lists keyboard shortcuts. */
export class Help {
	readonly element: HTMLDialogElement;

	constructor() {
		this.element = element(
			'dialog',
			{ class: 'help', aria: { label: 'Keyboard shortcuts' } },
			element('h2', null, 'Keyboard shortcuts'),
			element(
				'dl',
				null,
				...bindings.flatMap(({ shown, does }) => [
					element('dt', null, ...shown.map((key) => element('kbd', null, key))),
					element('dd', null, does),
				]),
			),
			element('p', { class: 'quiet' }, 'In lists, use the arrow keys, Home, End, Page Up, and Page Down.'),
			button({ label: 'Close', appearance: 'primary', onClick: () => this.element.close() }).element,
		);
	}

	open(): void {
		showDialog(this.element);
	}
}
