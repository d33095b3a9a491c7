import type { IDisposable } from '../../src/base/disposable.ts';
import { nextFocus } from './a11y.ts';
import { element, setAria, uniqueId } from './dom.ts';
import { VirtualList } from './virtualList.ts';

export interface SelectionListOptions {
	readonly label: string;
	readonly class: string;
	/** Row height in CSS pixels. */
	readonly rowHeight: number;
	/** Renders a row. Its accessible name is its text, including visually hidden text. */
	readonly draw: (row: HTMLElement, index: number) => void;
	readonly onSelect: (index: number) => void;
}

/** Virtual list box with one selected row. Arrow keys, Home and End change the selection; the list keeps focus. */
export class SelectionList implements IDisposable {
	readonly element: HTMLElement;
	readonly #list: VirtualList;
	readonly #prefix = uniqueId('row');
	readonly #rowHeight: number;
	#count = 0;
	#selected = -1;

	constructor({ label, rowHeight, draw, onSelect, ...options }: SelectionListOptions) {
		this.#rowHeight = rowHeight;
		this.#list = new VirtualList({
			label,
			class: `selection-list ${options.class}`,
			role: 'listbox',
			rowRole: 'option',
			rowHeight,
			render: (index) => {
				const row = element('div', {
					class: 'selection-row',
					id: `${this.#prefix}-${index}`,
					aria: { selected: index === this.#selected },
				});
				draw(row, index);
				row.addEventListener('click', () => onSelect(index));
				return row;
			},
			onDrawn: () => this.#nameActive(),
		});
		this.element = this.#list.element;
		this.element.addEventListener('keydown', (event) => {
			if (event.ctrlKey || event.altKey || event.metaKey) return;
			if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') return;
			const page = Math.max(1, Math.floor(this.element.clientHeight / this.#rowHeight) - 1);
			const by = { PageDown: page, PageUp: -page }[event.key];
			const next =
				by === undefined
					? nextFocus(event.key, this.#selected, this.#count)
					: Math.max(0, Math.min(this.#count - 1, this.#selected + by));
			if (next === null) return;
			event.preventDefault();
			if (next !== this.#selected) onSelect(next);
		});
	}

	/** Redraws the list. If `added` rows were inserted at the top, the visible rows keep their position. */
	update(count: number, selected: number, added = 0): void {
		const moved = selected !== this.#selected + added;
		const { scrollTop } = this.element;
		this.#count = count;
		this.#selected = selected;
		this.#list.setCount(count);
		// Show the newest rows if scrolled to the top; otherwise keep the position.
		if (added > 0 && scrollTop > 0) this.element.scrollTop = scrollTop + added * this.#rowHeight;
		if (moved && selected >= 0 && selected < count) this.#list.reveal(selected);
	}

	/** Updates aria-activedescendant, which can only refer to a rendered row. */
	#nameActive(): void {
		const id = `${this.#prefix}-${this.#selected}`;
		setAria(this.element, 'activedescendant', this.element.querySelector(`#${id}`) ? id : null);
	}

	dispose(): void {
		this.#list.dispose();
	}
}
