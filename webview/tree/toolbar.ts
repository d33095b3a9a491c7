import { formatCount } from '../../src/base/format.ts';
import { button, checkbox, dropdown, textField } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import type { Detail } from './layout/collapsing.ts';
import { type LayoutKind, layoutKinds } from './layout/layout.ts';
import { nodeFilterNames, nodeFilters } from './nodeFilter.ts';
import { type Coloring, coloringNames, colorings } from './nodeMeasures.ts';
import type { TreeModel } from './treeModel.ts';

const layoutNames: Readonly<Record<LayoutKind, string>> = {
	tidy: 'Tidy, rightward',
	down: 'Tidy, downward',
	radial: 'Radial',
	indented: 'Indented',
	timeline: 'Timeline',
	layered: 'Layered graph',
};

const details: readonly (readonly [Detail, string])[] = [
	['automatic', 'Largest branches'],
	['all', 'Expand all'],
	[1, 'Depth 1'],
	[2, 'Depth 2'],
	[3, 'Depth 3'],
	[5, 'Depth 5'],
	[10, 'Depth 10'],
];

export interface ToolbarActions {
	fit(): void;
	zoom(factor: number): void;
	help(): void;
}

/** Tree view settings and search. */
export class Toolbar {
	readonly element: HTMLElement;
	readonly #model: TreeModel;
	readonly #layout;
	readonly #color;
	readonly #detail;
	readonly #filter;
	readonly #unit;
	readonly #widths;
	readonly #search;
	readonly #found = element('span', { class: 'found-count quiet', role: 'status' });
	readonly #next;
	readonly #previous;

	constructor(model: TreeModel, actions: ToolbarActions) {
		this.#model = model;
		this.#layout = dropdown({
			label: 'Layout',
			choices: layoutKinds.map((value) => ({ value, label: layoutNames[value] })),
			value: 'tidy',
			onChange: (value) => model.setOptions({ layout: value as LayoutKind }),
		});
		this.#color = dropdown({
			label: 'Color',
			choices: colorings.map((value) => ({ value, label: coloringNames[value] })),
			value: 'value',
			onChange: (value) => model.setOptions({ coloring: value as Coloring }),
		});
		this.#detail = dropdown({
			label: 'Expand',
			choices: details.map(([value, label]) => ({ value: String(value), label })),
			value: 'automatic',
			onChange: (value) =>
				model.setOptions({ detail: details.find(([detail]) => String(detail) === value)?.[0] ?? 'automatic' }),
		});
		this.#filter = dropdown({
			label: 'Nodes shown',
			choices: nodeFilters.map((value) => ({ value, label: nodeFilterNames[value] })),
			value: 'all',
			onChange: (value) => model.setOptions({ filter: nodeFilters.find((filter) => filter === value) ?? 'all' }),
		});
		this.#unit = dropdown({
			label: 'Timeline axis',
			choices: [
				{ value: 'events', label: 'By event' },
				{ value: 'seconds', label: 'By time' },
			],
			value: 'events',
			onChange: (value) => model.setOptions({ timeUnit: value === 'seconds' ? 'seconds' : 'events' }),
		});
		this.#widths = checkbox({
			label: 'Width by visits',
			checked: true,
			onChange: (widths) => model.setOptions({ widths }),
		});
		this.#search = textField({
			label: 'Search text and answers',
			placeholder: 'Search text and answers',
			icon: 'search',
			onInput: (words) => model.setWords(words),
		});
		this.#search.element.classList.add('search-field');
		this.#search.element.addEventListener('keydown', (event) => {
			if (event.key === 'Enter') model.moveHit(event.shiftKey ? -1 : 1);
			else if (event.key === 'Escape') this.#search.setValue('');
			else return;
			if (event.key === 'Escape') model.setWords('');
			event.preventDefault();
		});
		this.#previous = button({
			label: 'Previous match',
			icon: 'previous',
			appearance: 'icon',
			onClick: () => model.moveHit(-1),
		});
		this.#next = button({ label: 'Next match', icon: 'next', appearance: 'icon', onClick: () => model.moveHit(1) });
		this.element = element(
			'div',
			{ class: 'toolbar', role: 'group', aria: { label: 'View' } },
			this.#layout.element,
			this.#unit.element,
			this.#color.element,
			this.#detail.element,
			this.#filter.element,
			this.#widths.element,
			element('span', { class: 'spacer' }),
			element(
				'span',
				{ class: 'search-group' },
				this.#search.element,
				this.#found,
				this.#previous.element,
				this.#next.element,
			),
			element(
				'span',
				{ class: 'zoom-group' },
				button({ label: 'Zoom out', icon: 'minus', appearance: 'icon', onClick: () => actions.zoom(1 / 1.5) }).element,
				button({ label: 'Zoom in', icon: 'plus', appearance: 'icon', onClick: () => actions.zoom(1.5) }).element,
				button({ label: 'Fit to view', icon: 'fit', appearance: 'icon', onClick: () => actions.fit() }).element,
				button({ label: 'Keyboard shortcuts', icon: 'help', appearance: 'icon', onClick: () => actions.help() })
					.element,
			),
		);
	}

	focusSearch(): void {
		this.#search.focus();
	}

	/** @param kind, coloring the values in effect if the user has not chosen any */
	update(kind: LayoutKind, coloring: Coloring): void {
		const { options, hits, words } = this.#model;
		this.#layout.setValue(kind);
		this.#color.setValue(coloring);
		this.#detail.setValue(String(options.detail));
		this.#filter.setValue(options.filter);
		this.#unit.setValue(options.timeUnit);
		this.#unit.setHidden(kind !== 'timeline');
		this.#widths.setChecked(options.widths);
		const at = this.#model.selection === null ? -1 : hits.indexOf(this.#model.selection.id);
		setText(
			this.#found,
			words.trim() === ''
				? ''
				: at === -1
					? `${formatCount(hits.length)} found`
					: `${at + 1} of ${formatCount(hits.length)}`,
		);
		for (const move of [this.#previous, this.#next]) move.setDisabled(hits.length === 0);
	}
}
