import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted } from '../../src/base/format.ts';
import { button, checkbox, dropdown, textField } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import { Typing } from '../lib/typing.ts';
import { activeFilters, type Filters, parseBound } from './filters.ts';
import type { RolloutsModel } from './rolloutsModel.ts';

const advantageChoices = [
	{ value: 'any', label: 'Any advantage' },
	{ value: 'positive', label: 'Advantage > 0' },
	{ value: 'zero', label: 'Advantage = 0' },
	{ value: 'negative', label: 'Advantage < 0' },
];
const correctnessChoices = [
	{ value: 'any', label: 'Any verdict' },
	{ value: 'correct', label: 'Correct' },
	{ value: 'wrong', label: 'Incorrect' },
	{ value: 'unknown', label: 'Not scored' },
];
const truncationChoices = [
	{ value: 'any', label: 'Any length' },
	{ value: 'truncated', label: 'Truncated' },
	{ value: 'complete', label: 'Complete' },
	{ value: 'unknown', label: 'Not recorded' },
];

/** Search and filters for the open step, with the number of matches. */
export class FilterBar extends Disposable {
	readonly element: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #search;
	readonly #low;
	readonly #high;
	readonly #advantage;
	readonly #correctness;
	readonly #truncation;
	readonly #hideDead;
	readonly #clear;
	readonly #toggle;
	readonly #more = element('div', { class: 'filter-more' });
	readonly #result = element('span', { class: 'filter-result', role: 'status' });
	readonly #typing;

	constructor(model: RolloutsModel) {
		super();
		this.#model = model;
		const { filters } = model;
		const set = (patch: Partial<Filters>): void => model.setFilters({ ...model.filters, ...patch });
		const typing = this.register(new Typing<Filters>(set));
		this.#typing = typing;
		this.#search = textField({
			label: 'Search the completions in this step',
			placeholder: 'Search completions',
			icon: 'search',
			value: filters.text,
			onInput: (text) => typing.put({ text: text.slice(0, 1000) }),
		});
		const bound = (label: string, placeholder: string, key: 'rewardLow' | 'rewardHigh') =>
			textField({
				label,
				placeholder,
				value: filters[key] === null ? '' : String(filters[key]),
				onInput: (text) => {
					const value = parseBound(text);
					if (value !== null) typing.put({ [key]: value === 'none' ? null : value });
				},
			});
		this.#low = bound('Min reward', 'min', 'rewardLow');
		this.#high = bound('Max reward', 'max', 'rewardHigh');
		this.#advantage = dropdown({
			label: 'Advantage',
			choices: advantageChoices,
			value: filters.advantage,
			onChange: (value) => set({ advantage: value as Filters['advantage'] }),
		});
		this.#correctness = dropdown({
			label: 'Correctness',
			choices: correctnessChoices,
			value: filters.correctness,
			onChange: (value) => set({ correctness: value as Filters['correctness'] }),
		});
		this.#truncation = dropdown({
			label: 'Truncation',
			choices: truncationChoices,
			value: filters.truncation,
			onChange: (value) => set({ truncation: value as Filters['truncation'] }),
		});
		this.#hideDead = checkbox({
			label: 'Hide dead groups',
			title: 'Groups with equal rewards have zero advantage and no gradient',
			checked: filters.hideDead,
			onChange: (hideDead) => set({ hideDead }),
		});
		this.#clear = button({
			label: 'Clear',
			icon: 'close',
			onClick: () => {
				typing.dispose();
				model.clearFilters();
			},
		});
		this.#toggle = button({
			label: 'Filters',
			icon: 'filter',
			appearance: 'icon',
			title: 'Show the filters',
			pressed: activeFilters(filters) > 0,
			onClick: () => this.#show(Boolean(this.#more.hidden)),
		});
		this.#fillMore();
		this.#search.element.classList.add('search');
		this.element = element(
			'div',
			{ class: 'filter-bar', role: 'search', aria: { label: 'Search and filters' } },
			element(
				'div',
				{ class: 'filter-line' },
				this.#search.element,
				this.#toggle.element,
				this.#clear.element,
				this.#result,
			),
			this.#more,
		);
		this.#show(activeFilters({ ...filters, text: '' }) > 0);
		this.update();
	}

	#fillMore(): void {
		this.#low.element.classList.add('bound');
		this.#high.element.classList.add('bound');
		this.#more.append(
			element(
				'span',
				{ class: 'labeled', role: 'group', aria: { label: 'Reward' } },
				'Reward',
				this.#low.element,
				'–',
				this.#high.element,
			),
			this.#advantage.element,
			this.#correctness.element,
			this.#truncation.element,
			this.#hideDead.element,
		);
	}

	focus(): void {
		this.#search.focus();
	}

	update(): void {
		const { filters, groups, step, stepContent, searching, found, searchFailure } = this.#model;
		// A redraw must not overwrite text that the user is typing.
		if (this.#typing.pending.text === undefined) this.#search.setValue(filters.text);
		this.#advantage.setValue(filters.advantage);
		this.#correctness.setValue(filters.correctness);
		this.#truncation.setValue(filters.truncation);
		this.#hideDead.setChecked(filters.hideDead);
		const { rewardLow, rewardHigh } = { ...filters, ...this.#typing.pending };
		if (rewardLow === null && parseBound(this.#low.value) !== null) this.#low.setValue('');
		if (rewardHigh === null && parseBound(this.#high.value) !== null) this.#high.setValue('');
		const active = activeFilters(filters);
		this.#clear.setHidden(active === 0);
		if (stepContent.state !== 'ready') {
			setText(
				this.#result,
				stepContent.state === 'loading' ? `Loading ${step === null ? '' : this.#model.stepText(step)}…` : '',
			);
			return;
		}
		const total = stepContent.value.groups.reduce((sum, group) => sum + group.index.length, 0);
		const passing = groups.reduce((sum, group) => sum + group.rows.length, 0);
		const occurrences = groups.reduce((sum, group) => sum + group.occurrences, 0);
		const parts = [
			active === 0
				? `${formatCounted(total, 'rollout')}`
				: `${formatCount(passing)} of ${formatCounted(total, 'rollout')}`,
		];
		if (searching) parts.push('searching…');
		else if (searchFailure) parts.push(searchFailure.message);
		else if (found) parts.push(formatCounted(occurrences, 'occurrence'));
		setText(this.#result, parts.join(' · '));
	}

	#show(shown: boolean): void {
		this.#more.hidden = !shown;
		this.#toggle.setPressed(shown);
		this.#toggle.element.setAttribute('aria-expanded', String(shown));
	}
}
