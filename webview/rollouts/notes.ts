import type { RunHeader } from '../../src/protocol/rolloutsMessages.ts';
import { button } from '../lib/controls.ts';
import { showDialog } from '../lib/dialog.ts';
import { element, fill } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Dialog that explains what another trainer's files do not record and what was inferred instead. */
export class Notes {
	readonly element: HTMLDialogElement = element('dialog', { class: 'notes', aria: { label: 'About this format' } });

	open(trainer: RunHeader['trainer']): void {
		if (!trainer || this.element.open) return;
		const { title, notes } = trainer;
		fill(
			this.element,
			element('h2', null, plainLabel(title, 60)),
			element('p', { class: 'quiet' }, 'This run was written by another trainer. Its files are opened read-only.'),
			notes.length === 0
				? element('p', null, 'Everything shown here is recorded in the files.')
				: element('ul', null, ...notes.map((note) => element('li', null, plainLabel(note, 500)))),
			button({ label: 'Close', appearance: 'primary', onClick: () => this.element.close() }).element,
		);
		showDialog(this.element);
	}
}
