import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { type Tab, TabList } from '../lib/tabList.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { Mode } from './savedState.ts';

/** Rollouts to export: the selected ones, or all visible ones. */
export type ExportScope = 'chosen' | 'shown';

const tabs: readonly Tab<Mode>[] = [
	{ id: 'group', label: 'Group', title: 'Completions in one group (1)' },
	{ id: 'compare', label: 'Compare', title: 'Two completions side by side, with their first difference (2)' },
	{ id: 'training', label: 'Over Training', title: 'The same prompt across training steps (3)' },
	{ id: 'behaviors', label: 'Behaviors', title: 'Reasoning behaviors over the course of training (4)' },
];

/** View tabs, plus the current selection and its actions. */
export class ModeBar implements IDisposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #tabs: TabList<Mode>;
	readonly #chosen = element('div', { class: 'chosen', role: 'group', aria: { label: 'Selected completions' } });
	#count = -1;

	constructor(model: RolloutsModel, onExport: (what: ExportScope) => void) {
		this.#model = model;
		this.#tabs = new TabList({ label: 'View', tabs, onSelect: (mode) => model.setMode(mode), selectsOnFocus: false });
		this.#tabs.element.dataset.keys = 'own';
		this.element = element(
			'div',
			{ class: 'mode-bar' },
			this.#tabs.element,
			this.#chosen,
			element('span', { class: 'spacer' }),
			button({
				label: 'Export…',
				icon: 'download',
				appearance: 'icon',
				title: 'Export the selected rollouts, or all that match the filters, as training data',
				onClick: () => onExport(model.chosen.size > 0 ? 'chosen' : 'shown'),
			}).element,
		);
		this.update();
	}

	update(): void {
		const { mode, chosen } = this.#model;
		this.#tabs.select(mode === 'label' || mode === 'continue' ? 'group' : mode);
		if (chosen.size === this.#count) return;
		this.#count = chosen.size;
		fill(
			this.#chosen,
			...(chosen.size === 0
				? []
				: [
						element('span', { role: 'status' }, formatCounted(chosen.size, 'selected', 'selected')),
						chosen.size >= 2 && button({ label: 'Compare', onClick: () => this.#model.setMode('compare') }).element,
						button({ label: 'Clear', title: 'Clear selection', onClick: () => this.#model.clearChosen() }).element,
					]),
		);
		this.#chosen.hidden = chosen.size === 0;
	}

	dispose(): void {
		this.element.remove();
	}
}
