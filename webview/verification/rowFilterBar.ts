import { Disposable } from '../../src/base/disposable.ts';
import { firstUpper, formatCount, formatCounted } from '../../src/base/format.ts';
import { rowSources } from '../../src/protocol/verification.ts';
import type { ResultsView } from '../../src/protocol/verificationMessages.ts';
import { button, type Choice, dropdown, textField } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { Typing } from '../lib/typing.ts';
import { binLabel, sourceNames } from './distribution.ts';
import type { ResultsModel } from './resultsModel.ts';
import { activeFilters, type RowFilters } from './rowFilters.ts';
import type { RowOrder } from './rowOrder.ts';

const verifiedKindNames: readonly Choice[] = [
	{ value: 'all', label: 'All rows' },
	{ value: 'errors', label: 'Errors' },
	{ value: 'failed', label: 'Failed cases' },
	{ value: 'nulls', label: 'Not applicable (null)' },
	{ value: 'surprising', label: 'Incorrect ≥ correct' },
	{ value: 'dead', label: 'In dead groups' },
	{ value: 'different', label: 'Different from run' },
];
const comparedKindNames: readonly Choice[] = [
	{ value: 'all', label: 'All rollouts' },
	{ value: 'changed', label: 'Changed' },
	{ value: 'flipped', label: 'Flipped' },
	{ value: 'advantage', label: 'Advantage sign flips' },
	{ value: 'errors', label: 'Errors' },
];
const verifiedOrderNames: readonly Choice[] = [
	{ value: 'list', label: 'As listed' },
	{ value: 'value-low', label: 'Lowest value' },
	{ value: 'value-high', label: 'Highest value' },
	{ value: 'spread', label: 'Widest group' },
	{ value: 'label', label: 'Name' },
];
const comparedOrderNames: readonly Choice[] = [
	{ value: 'list', label: 'As recorded' },
	{ value: 'change', label: 'Largest change' },
	{ value: 'advantage-change', label: 'Largest advantage change' },
	{ value: 'before', label: 'Highest before' },
	{ value: 'after', label: 'Highest after' },
];

/** Search box, filters and sort order for rows, with the number of matches. */
export class RowFilterBar extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #search;
	readonly #kind;
	readonly #source;
	readonly #order;
	readonly #clear;
	readonly #chips = element('span', { class: 'chips' });
	readonly #count = element('span', { class: 'filter-result', role: 'status' });
	readonly #typing;

	constructor(model: ResultsModel, view: Exclude<ResultsView, 'audit'>) {
		super();
		this.#model = model;
		const typing = this.register(new Typing<Pick<RowFilters, 'text'>>((typed) => model.setFilters(typed)));
		this.#typing = typing;
		const verifying = view === 'verification';
		this.#search = textField({
			label: 'Search prompts, completions and answers',
			placeholder: 'Search text',
			icon: 'search',
			value: model.filters.text,
			onInput: (text) => typing.put({ text: text.slice(0, 1000) }),
		});
		this.#search.element.classList.add('search');
		this.#kind = dropdown({
			label: 'Filter rows',
			choices: verifying ? verifiedKindNames : comparedKindNames,
			value: model.filters.kind,
			onChange: (kind) => model.setFilters({ kind: kind as RowFilters['kind'] }),
		});
		this.#source = dropdown({
			label: 'Source',
			choices: [
				{ value: 'any', label: 'Any source' },
				...rowSources.map((source) => ({ value: source, label: firstUpper(sourceNames[source]) })),
			],
			value: model.filters.source,
			onChange: (source) => model.setFilters({ source: source as RowFilters['source'] }),
		});
		this.#source.setHidden(!verifying);
		this.#order = dropdown({
			label: 'Sort',
			choices: verifying ? verifiedOrderNames : comparedOrderNames,
			value: model.order,
			onChange: (order) => model.setOrder(order as RowOrder),
		});
		this.#clear = button({
			label: 'Clear',
			icon: 'close',
			onClick: () => {
				typing.dispose();
				model.clearFilters();
			},
		});
		const shortcuts = verifying
			? [
					button({
						label: 'Worst',
						title: 'Rows with the lowest values',
						onClick: () => model.showExtreme('value-low'),
					}),
					button({
						label: 'Best',
						title: 'Rows with the highest values',
						onClick: () => model.showExtreme('value-high'),
					}),
				]
			: [];
		this.element = element(
			'div',
			{ class: 'filter-bar', role: 'search', aria: { label: 'Search, filters and sort order' } },
			this.#search.element,
			this.#kind.element,
			this.#source.element,
			this.#order.element,
			...shortcuts.map((shortcut) => shortcut.element),
			this.#clear.element,
			this.#chips,
			this.#count,
		);
	}

	focus(): void {
		this.#search.focus();
	}

	update(): void {
		const { filters, order, shown, rowCount, searching, searchFailure } = this.#model;
		// Results that arrive while the user is typing must not replace text that has not been searched for yet.
		if (!this.#typing.isPending) this.#search.setValue(filters.text);
		this.#kind.setValue(filters.kind);
		this.#source.setValue(filters.source);
		this.#order.setValue(order);
		this.#clear.setHidden(activeFilters(filters) === 0);
		fill(
			this.#chips,
			filters.range && chip(`value ${binLabel(filters.range)}`),
			filters.group && chip(this.#groupName()),
		);
		const count =
			shown.length === rowCount
				? formatCounted(rowCount, 'row')
				: `${formatCount(shown.length)} of ${formatCounted(rowCount, 'row')}`;
		setText(this.#count, searching ? 'Searching…' : searchFailure === null ? count : plainLabel(searchFailure));
	}

	#groupName(): string {
		const { filters, verified } = this.#model;
		const row = verified.find(({ group }) => String(group) === filters.group);
		if (row !== undefined) return `group with prompt ${plainLabel(row.prompt, 30) || '(empty prompt)'}`;
		const [step, group] = (filters.group ?? '').split('/');
		return step === 'null' ? `group ${group}` : `step ${step}, group ${group}`;
	}
}

const chip = (text: string) => element('span', { class: 'badge chip' }, text);
