import { button } from '../lib/controls.ts';
import { element, setAria, setText, setTitle } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { faultOf } from './formSql.ts';
import { type Condition, type FormColumn, type Operator, operatorNames, operatorsOf, valuesOf } from './queryForm.ts';
import type { QueryModel } from './queryModel.ts';

/** List of conditions on rollouts, one per line. */
export class ConditionList {
	readonly element: HTMLElement;
	readonly #model: QueryModel;
	readonly #rows = element('div', { class: 'conditions', role: 'group', aria: { label: 'Conditions' } });
	readonly #lines: ConditionLine[] = [];

	constructor(model: QueryModel) {
		this.#model = model;
		const add = button({
			label: 'Add Condition',
			icon: 'filter',
			onClick: () => {
				const column = this.#unused();
				const operator = operatorsOf[column.kind][0] as Operator;
				this.#set([...model.form.conditions, { column: column.id, operator, value: '', to: '' }]);
				this.#lines.at(-1)?.focus();
			},
		});
		this.element = element('div', { class: 'condition-list' }, this.#rows, add.element);
	}

	update(): void {
		const { conditions } = this.#model.form;
		while (this.#lines.length > conditions.length) this.#lines.pop()?.element.remove();
		while (this.#lines.length < conditions.length) {
			const line = new ConditionLine(this.#lines.length, {
				change: (index, change) =>
					this.#set(
						this.#model.form.conditions.map((condition, i) => (i === index ? { ...condition, ...change } : condition)),
					),
				remove: (index) => this.#set(this.#model.form.conditions.filter((_, i) => i !== index)),
			});
			this.#lines.push(line);
			this.#rows.append(line.element);
		}
		for (const [i, line] of this.#lines.entries()) line.update(conditions[i] as Condition, this.#model.columns);
		this.#rows.hidden = conditions.length === 0;
	}

	/** Returns the default column for the next condition: the most common one that is not in use. */
	#unused(): FormColumn {
		const { form, columns } = this.#model;
		const used = new Set(form.conditions.map(({ column }) => column));
		const first = ['reward', 'step', 'correct', 'characters', 'truncated', 'advantage'];
		const id = first.find((name) => !used.has(name)) ?? 'reward';
		return columns.find((column) => column.id === id) ?? (columns[0] as FormColumn);
	}

	#set(conditions: Condition[]): void {
		this.#model.setForm({ conditions });
	}
}

interface LineActions {
	change(index: number, change: Partial<Condition>): void;
	remove(index: number): void;
}

class ConditionLine {
	readonly element: HTMLElement;
	readonly #column;
	readonly #operator;
	readonly #value: HTMLInputElement;
	readonly #to: HTMLInputElement;
	readonly #and = element('span', { class: 'quiet' }, 'and');
	readonly #fault = element('span', { class: 'field-fault', role: 'status' });
	#columns: readonly FormColumn[] = [];

	constructor(index: number, actions: LineActions) {
		const number = index + 1;
		this.#column = select(`Condition ${number}: column`, (column) => {
			const kind = this.#columns.find(({ id }) => id === column)?.kind ?? 'number';
			const keep = operatorsOf[kind].includes(this.#operator.element.value as Operator);
			actions.change(index, { column, ...(keep ? {} : { operator: operatorsOf[kind][0] as Operator }) });
		});
		this.#operator = select(`Condition ${number}: operator`, (operator) =>
			actions.change(index, { operator: operator as Operator }),
		);
		const field = (label: string, key: 'value' | 'to') => {
			const node = element('input', {
				class: 'field',
				aria: { label: `Condition ${number}: ${label}` },
				attributes: { type: 'text', maxlength: 1000, spellcheck: 'false', autocomplete: 'off' },
			});
			node.addEventListener('input', () => actions.change(index, { [key]: node.value }));
			return node;
		};
		this.#value = field('value', 'value');
		this.#to = field('upper bound', 'to');
		this.element = element(
			'div',
			{ class: 'condition' },
			this.#column.element,
			this.#operator.element,
			this.#value,
			this.#and,
			this.#to,
			button({
				label: `Remove condition ${number}`,
				appearance: 'icon',
				icon: 'close',
				onClick: () => actions.remove(index),
			}).element,
			this.#fault,
		);
	}

	update({ column, operator, value, to }: Condition, columns: readonly FormColumn[]): void {
		this.#columns = columns;
		const known = columns.find(({ id }) => id === column);
		const kind = known?.kind ?? (column.startsWith('rewards.') ? 'number' : 'text');
		this.#column.set(
			columns.map(({ id, label, meaning }) => ({ value: id, label, title: meaning })),
			column,
		);
		setTitle(this.#column.element, known?.meaning ?? '');
		this.#operator.set(
			operatorsOf[kind].map((name) => ({ value: name, label: operatorNames[name] })),
			operator,
		);
		const count = valuesOf(operator);
		this.#value.hidden = count < 1;
		this.#to.hidden = count < 2;
		this.#and.hidden = count < 2;
		if (this.#value.value !== value) this.#value.value = value;
		if (this.#to.value !== to) this.#to.value = to;
		const fault = faultOf({ column, operator, value, to }, kind);
		setText(this.#fault, fault ?? '');
		setAria(this.#value, 'invalid', fault === null ? null : true);
	}

	focus(): void {
		this.#column.element.focus();
	}
}
