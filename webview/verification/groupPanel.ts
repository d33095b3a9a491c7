import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted, formatNumber } from '../../src/base/format.ts';
import { type GroupSpread, groupSpreads } from '../../src/core/reward/verification/groupSpread.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, setText, unseen } from '../lib/dom.ts';
import { SelectionList } from '../lib/selectionList.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { panel } from './panel.ts';
import type { ResultsModel } from './resultsModel.ts';
import { groupKey } from './rowFilters.ts';
import type { GroupOrder } from './savedState.ts';
import { valueStrip } from './valueStrip.ts';

const rowHeight = 44;

/** Sorts groups. Ties keep list order. Pure. */
export function sortSpreads(spreads: readonly GroupSpread[], order: GroupOrder): GroupSpread[] {
	if (order === 'list') return [...spreads];
	const sign = order === 'narrow' ? 1 : -1;
	const key = (spread: GroupSpread) => (order === 'mean' ? spread.mean : spread.dead ? 0 : spread.std);
	return spreads.toSorted((a, b) => sign * (key(a) - key(b)));
}

/** Spread of values within each group. Selecting a group filters the rows. */
export class GroupPanel extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #list: SelectionList;
	readonly #order;
	readonly #all;
	readonly #count = element('p', { class: 'quiet panel-note' });
	#spreads: readonly GroupSpread[] = [];
	#sorted: readonly GroupSpread[] = [];
	#made: unknown = null;
	#range: readonly [number, number] = [0, 1];

	constructor(model: ResultsModel) {
		super();
		this.#model = model;
		this.#list = this.register(
			new SelectionList({
				label: 'Groups',
				class: 'spread-list',
				rowHeight,
				draw: (row, i) => this.#draw(row, this.#sorted[i] as GroupSpread),
				onSelect: (i) => model.setFilters({ group: groupKey((this.#sorted[i] as GroupSpread).group) }),
			}),
		);
		this.#order = dropdown({
			label: 'Sort groups',
			choices: [
				{ value: 'narrow', label: 'Narrowest first' },
				{ value: 'wide', label: 'Widest first' },
				{ value: 'mean', label: 'Highest mean first' },
				{ value: 'list', label: 'As listed' },
			],
			value: model.groupOrder,
			onChange: (order) => model.setGroupOrder(order as GroupOrder),
		});
		this.#all = button({ label: 'All groups', onClick: () => model.setFilters({ group: null }) });
		const beside = element('div', { class: 'panel-tools' }, this.#all.element, this.#order.element);
		this.element = panel('Variance within groups', beside, this.#count, this.#list.element);
	}

	update(): void {
		const model = this.#model;
		if (this.#made !== model.verified) {
			this.#made = model.verified;
			this.#spreads = groupSpreads(model.verified);
			let [low, high] = [0, 0];
			for (const { values } of this.#spreads) {
				for (const value of values) {
					low = Math.min(low, value);
					high = Math.max(high, value);
				}
			}
			this.#range = low === high ? [0, 1] : [low, high];
		}
		this.#sorted = sortSpreads(this.#spreads, model.groupOrder);
		const { group } = model.filters;
		const at = group === null ? -1 : this.#sorted.findIndex((spread) => groupKey(spread.group) === group);
		const none = this.#sorted.length === 0;
		this.#list.element.hidden = none;
		this.#order.setHidden(none);
		this.#order.setValue(model.groupOrder);
		this.#all.setHidden(group === null);
		if (!none) this.#list.update(this.#sorted.length, at);
		const dead = this.#spreads.filter((spread) => spread.dead).length;
		setText(
			this.#count,
			none
				? 'No group has two or more rows with a value.'
				: `${formatCounted(this.#sorted.length, 'group')}, ${dead === 0 ? 'none' : formatCount(dead)} dead`,
		);
	}

	#draw(row: HTMLElement, spread: GroupSpread): void {
		const { prompt, values, mean, std, dead, rows } = spread;
		const nulls = rows.length - values.length;
		row.append(
			element('span', { class: 'spread-prompt' }, plainLabel(prompt, 120) || '(empty prompt)'),
			element(
				'span',
				{ class: 'spread-facts' },
				valueStrip(values, this.#range),
				unseen(', mean '),
				element('span', null, formatNumber(mean, 3)),
				unseen(', standard deviation '),
				element('span', { class: 'quiet' }, dead ? '± 0' : `± ${formatNumber(std, 2)}`),
				unseen(', '),
				element('span', { class: 'quiet' }, `${values.length}${nulls > 0 ? ` of ${rows.length}` : ''} values`),
				dead && element('span', { class: 'badge dead', title: 'All values are equal' }, 'dead'),
			),
		);
	}
}
