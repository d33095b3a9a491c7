import type { RunColumn } from '../../src/core/runTable/runColumns.ts';
import { button, textField } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { RunTableModel } from './runTableModel.ts';

/** Maximum number of columns listed at once; the search box finds the others. */
const maxListed = 200;
const kinds: Readonly<Record<RunColumn['kind'], string>> = { run: 'Run', metric: 'Metrics', recipe: 'Recipe' };

/** Dropdown list of all columns with checkboxes. */
export class ColumnChooser {
	readonly element: HTMLDetailsElement;
	readonly #model: RunTableModel;
	readonly #list = element('div', { class: 'column-list', role: 'group', aria: { label: 'Columns' } });
	#search = '';
	#key = '';

	constructor(model: RunTableModel) {
		this.#model = model;
		const search = textField({
			label: 'Search columns',
			placeholder: 'Search columns',
			icon: 'search',
			onInput: (value) => {
				this.#search = value.toLowerCase();
				this.update();
			},
		});
		const usual = button({ label: 'Reset', onClick: () => model.set({ columns: null }) });
		this.element = element(
			'details',
			{ class: 'columns' },
			element('summary', { class: 'columns-summary' }, 'Columns'),
			element('div', { class: 'columns-body' }, search.element, this.#list, usual.element),
		);
		this.element.addEventListener('toggle', () => this.update());
		this.element.addEventListener('keydown', (event) => {
			if (event.key !== 'Escape' || !this.element.open) return;
			this.element.open = false;
			this.element.querySelector('summary')?.focus();
		});
	}

	update(): void {
		if (!this.element.open) return;
		const shown = new Set(this.#model.shown.map(({ id }) => id));
		const found = [...this.#model.columns.values()].filter(({ label, path }) =>
			`${label} ${path}`.toLowerCase().includes(this.#search),
		);
		const listed = found.slice(0, maxListed);
		const key = JSON.stringify([listed.map(({ id }) => [id, shown.has(id)]), found.length]);
		if (key === this.#key) return;
		this.#key = key;
		const focused = (document.activeElement as HTMLElement | null)?.dataset.column;
		fill(
			this.#list,
			...(['run', 'metric', 'recipe'] as const).flatMap((kind) => {
				const columns = listed.filter((column) => column.kind === kind);
				if (columns.length === 0) return [];
				return [
					element('h3', { class: 'column-kind' }, kinds[kind]),
					...columns.map((column) => this.#choice(column, shown.has(column.id))),
				];
			}),
			found.length > listed.length ? element('p', { class: 'quiet' }, 'Search to find more columns.') : null,
			found.length === 0 ? element('p', { class: 'quiet' }, 'No columns match.') : null,
		);
		for (const box of this.#list.querySelectorAll('input')) if (box.dataset.column === focused) box.focus();
	}

	#choice({ id, label, path, kind }: RunColumn, checked: boolean): HTMLElement {
		const box = element('input', { attributes: { type: 'checkbox' }, data: { column: id } });
		box.checked = checked;
		box.disabled = id === 'name';
		box.addEventListener('change', () => this.#model.toggleColumn(id));
		return element(
			'label',
			{ class: 'column-choice' },
			box,
			element('span', null, plainLabel(kind === 'recipe' ? path : label, 200)),
		);
	}
}
