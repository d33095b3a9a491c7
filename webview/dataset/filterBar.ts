import { formatCount, formatCounted } from '../../src/base/format.ts';
import {
	type Condition,
	conditionOperators,
	maxConditions,
	noFilter,
	type RowFilter,
	shownKinds,
	shownSides,
} from '../../src/protocol/datasetMessages.ts';
import { button, textField } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { Typing } from '../lib/typing.ts';
import type { DatasetModel } from './datasetModel.ts';

/** Row filters: text, column conditions, duplicates, overlaps, split. */
export class FilterBar {
	readonly element: HTMLElement;
	readonly #model: DatasetModel;
	readonly #text;
	readonly #conditions = element('div', { class: 'conditions', role: 'group', aria: { label: 'Conditions' } });
	readonly #duplicates = select('Duplicates', (value) =>
		this.#change({ duplicates: value as RowFilter['duplicates'] }),
	);
	readonly #overlaps = select('Overlaps with test sets', (value) =>
		this.#change({ overlaps: value as RowFilter['overlaps'] }),
	);
	readonly #side = select('Split', (value) => this.#change({ side: value as RowFilter['side'] }));
	readonly #count = element('span', { class: 'quiet shown-count', role: 'status' });
	readonly #clear;
	/** Filter being edited; the filter in the snapshot may lag behind. */
	#filter: RowFilter = noFilter;
	#names = '';
	readonly #typing = new Typing<RowFilter>(() => this.#send());

	constructor(model: DatasetModel) {
		this.#model = model;
		this.#text = textField({
			label: 'Search text',
			placeholder: 'Search all columns',
			icon: 'search',
			onInput: (text) => {
				this.#filter = { ...this.#filter, text };
				this.#typing.put(this.#filter);
			},
		});
		const add = button({ label: 'Add Condition', icon: 'filter', onClick: () => this.#add() });
		this.#clear = button({
			label: 'Clear Filters',
			onClick: () => {
				this.#filter = noFilter;
				this.#names = '';
				this.#send();
				this.update();
			},
		});
		this.element = element(
			'section',
			{ class: 'filters', aria: { label: 'Filter' } },
			element(
				'div',
				{ class: 'filter-line' },
				this.#text.element,
				this.#duplicates.element,
				this.#overlaps.element,
				this.#side.element,
				add.element,
				this.#clear.element,
				this.#count,
			),
			this.#conditions,
		);
	}

	dispose(): void {
		this.#typing.dispose();
	}

	update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		const typing = this.#typing.isPending || this.element.contains(document.activeElement);
		if (!typing) this.#filter = (this.#model.wanted ?? snapshot.view).filter;
		const filter = this.#filter;
		this.#text.setValue(filter.text);
		const kinds = (what: string) =>
			shownKinds.map((value) => ({
				value,
				label: { all: `With ${what}`, without: `Without ${what}`, only: `Only ${what}` }[value],
			}));
		this.#duplicates.set(kinds('duplicates'), filter.duplicates);
		this.#overlaps.set(kinds('overlaps'), filter.overlaps);
		this.#overlaps.element.disabled = snapshot.overlaps === null && filter.overlaps === 'all';
		const words = { all: 'Training and held-out', training: 'Training', 'held out': 'Held-out' };
		this.#side.set(
			shownSides.map((value) => ({ value, label: words[value] })),
			filter.side,
		);
		this.#drawConditions(snapshot.columns.map(({ name }) => name));
		const { view, rows, complete } = snapshot;
		const all = complete ? formatCounted(rows, 'row') : `${formatCounted(rows, 'row')} so far`;
		const shown = view.all || view.rows === rows ? all : `${formatCount(view.rows)} of ${all}`;
		if (this.#count.textContent !== shown) fill(this.#count, shown);
		this.#clear.setHidden(JSON.stringify(filter) === JSON.stringify(noFilter));
	}

	#drawConditions(columns: readonly string[]): void {
		const { conditions } = this.#filter;
		const names = JSON.stringify([columns, conditions.length]);
		this.#conditions.hidden = conditions.length === 0;
		if (names === this.#names) return;
		this.#names = names;
		fill(this.#conditions, ...conditions.map((condition, i) => this.#condition(condition, i, columns)));
	}

	#condition(condition: Condition, i: number, columns: readonly string[]): HTMLElement {
		const label = `Condition ${i + 1}`;
		const column = select(`${label}: column`, (value) => this.#alter(i, { column: value }));
		column.set(
			columns.map((name) => ({ value: name, label: plainLabel(name, 60) })),
			condition.column,
		);
		const operator = select(`${label}: operator`, (value) => {
			this.#alter(i, { operator: value as Condition['operator'] });
			field.hidden = value.startsWith('is');
		});
		operator.set(
			conditionOperators.map((value) => ({ value, label: value })),
			condition.operator,
		);
		const field = element('input', {
			class: 'field',
			aria: { label: `${label}: value` },
			attributes: { type: 'text' },
		});
		field.value = condition.value;
		field.hidden = condition.operator.startsWith('is');
		field.addEventListener('input', () => {
			this.#put(i, { value: field.value });
			this.#typing.put(this.#filter);
		});
		const remove = button({
			label: `Remove condition ${i + 1}`,
			appearance: 'icon',
			icon: 'close',
			onClick: () => {
				this.#filter = { ...this.#filter, conditions: this.#filter.conditions.filter((_, other) => other !== i) };
				this.#names = '';
				this.#send();
				this.update();
			},
		});
		return element('div', { class: 'condition' }, column.element, operator.element, field, remove.element);
	}

	#add(): void {
		const column = this.#model.snapshot?.columns[0]?.name;
		if (column === undefined || this.#filter.conditions.length >= maxConditions) return;
		const condition: Condition = { column, operator: 'contains', value: '' };
		this.#filter = { ...this.#filter, conditions: [...this.#filter.conditions, condition] };
		this.update();
		this.#conditions.querySelector<HTMLElement>('.condition:last-child select')?.focus();
	}

	#put(i: number, change: Partial<Condition>): void {
		const conditions = this.#filter.conditions.map((one, other) => (other === i ? { ...one, ...change } : one));
		this.#filter = { ...this.#filter, conditions };
	}

	#alter(i: number, change: Partial<Condition>): void {
		this.#put(i, change);
		this.#send();
	}

	#change(change: Partial<RowFilter>): void {
		this.#filter = { ...this.#filter, ...change };
		this.#send();
	}

	#send(): void {
		this.#typing.dispose();
		this.#model.show(this.#filter, this.#model.wanted?.sort ?? null);
	}
}
