import { Disposable } from '../../src/base/disposable.ts';
import type { PlotLink } from '../lib/charts/plotLink.ts';
import { formatX } from '../lib/charts/plotScales.ts';
import { button, checkbox, dropdown, slider, textField } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import { formatClock } from '../lib/format.ts';
import type { DashboardModel } from './dashboardModel.ts';
import type { ViewState } from './viewState.ts';

export interface ToolbarNeeds {
	readonly model: DashboardModel;
	readonly link: PlotLink;
	readonly view: ViewState;
	readonly onSmoothing: (weight: number) => void;
	readonly onAxis: (axis: 'step' | 'time') => void;
	readonly onFilter: (filter: string) => void;
	readonly onExport: () => void;
}

/** How all charts are shown, and what is under the cursor. */
export class Toolbar extends Disposable {
	readonly element: HTMLElement;
	readonly #needs: ToolbarNeeds;
	readonly #readout = element('span', { class: 'readout' });
	readonly #focusFilter: () => void;

	constructor(needs: ToolbarNeeds) {
		super();
		this.#needs = needs;
		const { link } = needs;
		const filter = textField({
			label: 'Filter charts',
			placeholder: 'Filter charts',
			icon: 'filter',
			value: needs.view.filter,
			onInput: needs.onFilter,
		});
		const follow = checkbox({
			label: 'Follow',
			title: 'Move on with new steps. Zooming stops it.',
			checked: link.following,
			onChange: (checked) => link.setFollowing(checked),
		});
		const reset = button({
			label: 'Show all',
			title: 'Show all steps (0, or double-click in a chart)',
			appearance: 'icon',
			icon: 'reset',
			onClick: () => link.reset(),
		});
		reset.setDisabled(link.range === null);
		this.element = element(
			'div',
			{ class: 'toolbar', role: 'toolbar', aria: { label: 'Charts' } },
			filter.element,
			slider({
				label: 'Smoothing',
				title: 'Weight of the past in an exponential moving average; the measured values stay behind it',
				min: 0,
				max: 0.99,
				step: 0.01,
				value: needs.view.smoothing,
				format: (value) => (value === 0 ? 'off' : value.toFixed(2)),
				onInput: needs.onSmoothing,
			}).element,
			dropdown({
				label: 'Horizontal axis',
				choices: [
					{ value: 'step', label: 'Steps' },
					{ value: 'time', label: 'Time' },
				],
				value: needs.view.axis,
				onChange: (value) => needs.onAxis(value === 'time' ? 'time' : 'step'),
			}).element,
			follow.element,
			reset.element,
			button({
				label: 'Save all numbers as CSV',
				appearance: 'icon',
				icon: 'download',
				onClick: needs.onExport,
			}).element,
			element('span', { class: 'spacer' }),
			this.#readout,
		);
		this.#focusFilter = () => filter.focus();
		this.register(
			link.onViewChange(() => {
				follow.setChecked(link.following);
				reset.setDisabled(link.range === null);
				this.render();
			}),
		);
		this.register(link.onCursorChange(() => this.render()));
	}

	focusFilter(): void {
		this.#focusFilter();
	}

	/** Step, time, stage and what happened there. */
	render(): void {
		const { link, model } = this.#needs;
		const row = link.cursor;
		const { table } = model;
		if (row === null || row >= table.length) {
			const range = link.range;
			setText(
				this.#readout,
				range ? `${formatX(Math.round(range.min), link.axis)} \u2013 ${formatX(Math.round(range.max), link.axis)}` : '',
			);
			return;
		}
		const step = table.step[row] as number;
		const events = model.marks.filter((mark) => mark.step === step && mark.kind !== 'stage').map((mark) => mark.label);
		const parts = [
			`step ${step}`,
			formatClock(link.elapsed[row] ?? 0),
			table.stageAt(row) ?? '',
			...events.slice(0, 3),
		];
		setText(this.#readout, parts.filter(Boolean).join(' \u00b7 '));
	}
}
