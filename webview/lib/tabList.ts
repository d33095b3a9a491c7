import { nextFocus } from './a11y.ts';
import { element, type Properties, setAria, uniqueId } from './dom.ts';

export interface Tab<Id extends string> {
	readonly id: Id;
	readonly label: string;
	readonly title?: string;
}

export interface TabListOptions<Id extends string> {
	readonly label: string;
	readonly tabs: readonly Tab<Id>[];
	readonly onSelect: (id: Id) => void;
	/** Whether moving focus also selects the tab; set to false if views are slow to draw. Default: true. */
	readonly selectsOnFocus?: boolean;
}

/** Row of tabs with one tab stop. Arrow keys, Home and End move between tabs; Enter or a click selects one. */
export class TabList<Id extends string> {
	readonly element: HTMLElement;
	readonly #nodes: ReadonlyMap<Id, HTMLButtonElement>;
	readonly #panels = new Map<Id, HTMLElement>();

	constructor({ label, tabs, onSelect, selectsOnFocus = true }: TabListOptions<Id>) {
		this.#nodes = new Map(
			tabs.map(({ id, label: words, title }) => [
				id,
				element(
					'button',
					{
						class: 'tab',
						id: uniqueId('tab'),
						role: 'tab',
						tabIndex: -1,
						attributes: { type: 'button' },
						aria: { selected: false },
						on: { click: () => onSelect(id) },
						...(title === undefined ? {} : { title }),
					},
					words,
				),
			]),
		);
		this.element = element('div', { class: 'tabs', role: 'tablist', aria: { label } }, ...this.#nodes.values());
		this.element.addEventListener('keydown', (event) => {
			const offered = [...this.#nodes].filter(([, node]) => !node.hidden);
			const index = offered.findIndex(([, node]) => node === event.target);
			const next = nextFocus(event.key, index, offered.length);
			const to = next === null ? undefined : offered[next];
			if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
			event.preventDefault();
			this.#setStop(to[0]);
			if (selectsOnFocus) onSelect(to[0]);
			to[1].focus();
		});
	}

	/** Selects a tab and shows its panel. */
	select(id: Id): void {
		for (const [other, node] of this.#nodes) setAria(node, 'selected', other === id);
		this.#setStop(id);
		const shown = this.#panels.get(id);
		for (const panel of this.#panels.values()) panel.hidden = panel !== shown;
		if (shown) setAria(shown, 'labelledby', this.#nodes.get(id)?.id);
	}

	/** Shows or hides a tab. */
	offer(id: Id, offered: boolean): void {
		const node = this.#nodes.get(id);
		if (node) node.hidden = !offered;
	}

	/**
	 * Creates the panel for one or more tabs that share it.
	 * @param properties must include a tab stop if the content might not have one
	 */
	panel(ids: readonly Id[], properties: Properties, content: HTMLElement | null = null): HTMLElement {
		const panel = element('div', { ...properties, role: 'tabpanel', id: uniqueId('panel') }, content);
		for (const id of ids) {
			this.#panels.set(id, panel);
			setAria(this.#nodes.get(id) as HTMLElement, 'controls', panel.id);
		}
		return panel;
	}

	#setStop(id: Id): void {
		for (const [other, node] of this.#nodes) node.tabIndex = other === id ? 0 : -1;
	}
}
