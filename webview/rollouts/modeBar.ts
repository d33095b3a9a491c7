import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import { rovingFocus } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setAria } from '../lib/dom.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { Mode } from './savedState.ts';

const tabs: readonly { readonly mode: Mode; readonly name: string; readonly title: string }[] = [
	{ mode: 'group', name: 'Group', title: 'The completions of one group (1)' },
	{ mode: 'compare', name: 'Compare', title: 'Two completions, and where they part (2)' },
	{ mode: 'training', name: 'Over Training', title: 'The same prompt at all steps (3)' },
	{ mode: 'behaviours', name: 'Behaviors', title: 'How the reasoning changed (4)' },
];

/** What of the run is looked at, and what was chosen of it. */
export class ModeBar implements IDisposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #tabs: ReadonlyMap<Mode, HTMLElement>;
	readonly #chosen = element('div', { class: 'chosen', role: 'group', aria: { label: 'Chosen completions' } });
	readonly #focus: IDisposable;
	#count = -1;

	constructor(model: RolloutsModel, onExport: (what: 'chosen' | 'shown') => void) {
		this.#model = model;
		this.#tabs = new Map(
			tabs.map(({ mode, name, title }) => {
				const node = element('button', { class: 'tab', role: 'tab', title, attributes: { type: 'button' } }, name);
				node.addEventListener('click', () => model.setMode(mode));
				return [mode, node];
			}),
		);
		const list = element('div', { class: 'tabs', role: 'tablist', aria: { label: 'View' } }, ...this.#tabs.values());
		list.dataset.keys = 'own';
		this.#focus = rovingFocus(list, () => [...this.#tabs.values()]);
		this.element = element(
			'div',
			{ class: 'mode-bar' },
			list,
			this.#chosen,
			element('span', { class: 'spacer' }),
			button({
				label: 'Export…',
				icon: 'download',
				appearance: 'icon',
				title: 'Export… what was chosen, or what passes the filters of this step, to train on',
				onClick: () => onExport(model.chosen.size > 0 ? 'chosen' : 'shown'),
			}).element,
		);
		this.update();
	}

	update(): void {
		const { mode, chosen } = this.#model;
		for (const [name, node] of this.#tabs) {
			const selected = name === mode || (name === 'group' && (mode === 'label' || mode === 'continue'));
			setAria(node, 'selected', selected);
			node.tabIndex = selected ? 0 : -1;
		}
		if (chosen.size === this.#count) return;
		this.#count = chosen.size;
		fill(
			this.#chosen,
			...(chosen.size === 0
				? []
				: [
						element('span', { role: 'status' }, formatCounted(chosen.size, 'chosen', 'chosen')),
						chosen.size >= 2 && button({ label: 'Compare', onClick: () => this.#model.setMode('compare') }).element,
						button({ label: 'Clear', title: 'Choose nothing', onClick: () => this.#model.clearChosen() }).element,
					]),
		);
		this.#chosen.hidden = chosen.size === 0;
	}

	dispose(): void {
		this.#focus.dispose();
		this.element.remove();
	}
}
