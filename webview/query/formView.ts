import { button, checkbox } from '../lib/controls.ts';
import { element, setAria, setText, uniqueId } from '../lib/dom.ts';
import { select } from '../lib/select.ts';
import { ConditionList } from './conditionList.ts';
import { groupedSorts } from './formSql.ts';
import type { QueryModel } from './queryModel.ts';

/** Maximum number of group-by columns. */
const maxGroups = 3;

/** Form for querying rollouts without SQL. */
export class FormView {
	readonly element: HTMLElement;
	readonly #model: QueryModel;
	readonly #conditions: ConditionList;
	readonly #text: HTMLInputElement;
	readonly #textFault = element('span', { class: 'field-fault', role: 'status', id: uniqueId('fault') });
	readonly #regex;
	readonly #caseSensitive;
	readonly #sort;
	readonly #descending;
	readonly #groups;
	readonly #measure;
	readonly #tableOnly: HTMLElement;
	readonly #measureField: HTMLElement;
	readonly #asSql: HTMLElement;
	readonly #statement = element('code', { class: 'statement', tabIndex: 0 });

	constructor(model: QueryModel) {
		this.#model = model;
		this.#conditions = new ConditionList(model);
		this.#text = element('input', {
			class: 'field wide',
			aria: { label: 'Search text', describedby: this.#textFault.id },
			attributes: {
				type: 'text',
				maxlength: 1000,
				placeholder: 'Text in completions',
				spellcheck: 'false',
				autocomplete: 'off',
			},
		});
		this.#text.addEventListener('input', () => model.setForm({ text: this.#text.value }));
		this.#regex = checkbox({
			label: 'Regular expression',
			checked: model.form.regex,
			onChange: (regex) => model.setForm({ regex }),
		});
		this.#caseSensitive = checkbox({
			label: 'Match case',
			checked: model.form.caseSensitive,
			onChange: (caseSensitive) => model.setForm({ caseSensitive }),
		});
		this.#groups = Array.from({ length: maxGroups }, (_, i) =>
			select(i === 0 ? 'Group by' : `Then by (${i + 1})`, (column) => {
				const groupBy = [...model.form.groupBy];
				if (column === '') groupBy.splice(i);
				else groupBy[i] = column;
				model.setForm({ groupBy: [...new Set(groupBy)], sort: null });
			}),
		);
		this.#measure = select('Average of', (measure) => model.setForm({ measure }));
		this.#sort = select('Sort by', (column) =>
			model.setForm({ sort: column === '' ? null : { column, descending: model.form.sort?.descending ?? true } }),
		);
		this.#descending = select('Direction', (direction) => {
			const { sort } = model.form;
			if (sort) model.setForm({ sort: { ...sort, descending: direction === 'falling' } });
		});
		this.#measureField = labeled('Average of', this.#measure.element);
		this.#tableOnly = element(
			'div',
			{ class: 'fields' },
			labeled('Group by', ...this.#groups.map((group) => group.element)),
			this.#measureField,
			labeled('Sort by', this.#sort.element, this.#descending.element),
		);
		this.#asSql = element(
			'details',
			{ class: 'as-sql' },
			element('summary', null, 'As SQL'),
			this.#statement,
			button({ label: 'Edit as SQL', icon: 'braces', onClick: () => model.editStatement() }).element,
		);
		this.element = element(
			'div',
			{ class: 'form' },
			this.#conditions.element,
			element(
				'div',
				{ class: 'fields' },
				element('span', { class: 'labeled grow' }, this.#text),
				this.#regex.element,
				this.#caseSensitive.element,
				this.#textFault,
			),
			this.#tableOnly,
			this.#asSql,
		);
	}

	update(): void {
		const { form, columns } = this.#model;
		this.#conditions.update();
		if (this.#text.value !== form.text) this.#text.value = form.text;
		this.#regex.setChecked(form.regex);
		this.#caseSensitive.setChecked(form.caseSensitive);
		const fault = patternFault(form.text, form.regex);
		setText(this.#textFault, fault ?? '');
		setAria(this.#text, 'invalid', fault === null ? null : true);
		// Hits are returned in file order.
		const searching = form.text !== '';
		this.#tableOnly.hidden = searching;
		const choices = columns.map(({ id, label, meaning }) => ({ value: id, label, title: meaning }));
		for (const [i, group] of this.#groups.entries()) {
			group.element.hidden = i > form.groupBy.length;
			const none = { value: '', label: i === 0 ? 'nothing' : 'nothing else' };
			group.set([none, ...choices], form.groupBy[i] ?? '');
		}
		const grouped = form.groupBy.length > 0;
		this.#measureField.hidden = !grouped;
		this.#measure.set(
			choices.filter(({ value }) => columns.find(({ id }) => id === value)?.kind !== 'text'),
			form.measure,
		);
		const labels = new Map(choices.map(({ value, label }) => [value, label]));
		const sorts = grouped
			? groupedSorts(form).map((id) => ({
					value: id,
					label: `${id === form.measure ? 'mean ' : ''}${labels.get(id) ?? id.replaceAll('_', ' ')}`,
				}))
			: choices;
		this.#sort.set(
			[{ value: '', label: grouped ? 'group columns' : 'run and step' }, ...sorts],
			form.sort?.column ?? '',
		);
		this.#descending.element.hidden = form.sort === null;
		this.#descending.set(
			[
				{ value: 'falling', label: 'descending' },
				{ value: 'rising', label: 'ascending' },
			],
			form.sort?.descending === false ? 'rising' : 'falling',
		);
		this.#asSql.hidden = searching;
		setText(this.#statement, this.#model.formStatement);
	}
}

function labeled(label: string, ...controls: readonly HTMLElement[]): HTMLElement {
	return element('span', { class: 'labeled' }, element('span', { aria: { hidden: true } }, label), ...controls);
}

/** Returns the error in a regular expression; null if it is valid. */
export function patternFault(text: string, regex: boolean): string | null {
	if (!regex || text === '') return null;
	try {
		new RegExp(text, 'us');
		return null;
	} catch (error) {
		return (error as Error).message;
	}
}
