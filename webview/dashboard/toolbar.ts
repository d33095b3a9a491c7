import { Disposable } from '../../src/base/disposable.ts';
import { formatClock, formatCount } from '../../src/base/format.ts';
import type { PlotLink, XAxis } from '../lib/charts/plotLink.ts';
import { formatX } from '../lib/charts/plotScales.ts';
import { button, checkbox, type DropdownControl, dropdown, slider, textField } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import type { DashboardModel } from './dashboardModel.ts';
import { type StageRange, stageInView, stageRanges } from './stageRanges.ts';
import type { ViewState } from './viewState.ts';

export interface ToolbarNeeds {
	readonly model: DashboardModel;
	readonly link: PlotLink;
	readonly view: ViewState;
	readonly onSmoothing: (weight: number) => void;
	readonly onAxis: (axis: XAxis) => void;
	readonly onFilter: (filter: string) => void;
	readonly onExport: () => void;
	readonly openPinned: () => void;
	/** Button that opens the form for a chart of any two metrics. */
	readonly newChart: HTMLElement;
}

/** Settings that apply to all charts, and the cursor position. */
export class Toolbar extends Disposable {
	readonly element: HTMLElement;
	readonly #needs: ToolbarNeeds;
	readonly #readout = element('span', { class: 'readout' });
	/** Link to the pinned step; hidden if no step is pinned. */
	readonly #pinned = element('span', { class: 'pinned', hidden: true });
	#pinnedStep: number | null = null;
	readonly #focusFilter: () => void;
	readonly #stage: DropdownControl;
	#stages: StageRange[] = [];
	#stageKey = '';

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
			title: 'Follow new steps (turned off by zooming)',
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
		this.#stage = dropdown({
			label: 'Stage in view',
			choices: [{ value: 'all', label: 'All stages' }],
			value: 'all',
			onChange: (value) => this.#showStage(value),
		});
		this.#stage.element.classList.add('stage-choice');
		this.element = element(
			'div',
			{ class: 'toolbar', role: 'group', aria: { label: 'Charts' } },
			filter.element,
			slider({
				label: 'Smoothing',
				title: 'EMA smoothing weight; raw values remain visible behind the curve',
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
			this.#stage.element,
			follow.element,
			reset.element,
			needs.newChart,
			button({
				label: 'Save all metrics as CSV',
				appearance: 'icon',
				icon: 'download',
				onClick: needs.onExport,
			}).element,
			element('span', { class: 'spacer' }),
			this.#pinned,
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
		this.register(link.onCursorChange(() => this.#renderReadout()));
	}

	focusFilter(): void {
		this.#focusFilter();
	}

	/** Updates the stage dropdown and the cursor line. */
	render(): void {
		this.#renderStages();
		this.#renderPinned();
		this.#renderReadout();
	}

	#renderPinned(): void {
		const { link, openPinned } = this.#needs;
		const step = link.pinnedRow === null ? null : link.pinned;
		if (step === this.#pinnedStep) return;
		this.#pinnedStep = step;
		this.#pinned.hidden = step === null;
		if (step === null) return;
		fill(
			this.#pinned,
			button({
				label: `Open Rollouts at Step ${formatCount(step)}`,
				title: 'Open rollouts at the pinned step (Enter, Ctrl+Click or Cmd+Click in a chart)',
				icon: 'rollouts',
				onClick: openPinned,
			}).element,
			button({
				label: 'Unpin step',
				title: 'Unpin the step (Escape, or click it again in a chart)',
				appearance: 'icon',
				icon: 'close',
				onClick: () => link.pin(null),
			}).element,
		);
	}

	#showStage(value: string): void {
		const { link, model } = this.#needs;
		const stage = this.#stages[Number(value)];
		if (value === 'all' || !stage) {
			link.reset();
			return;
		}
		const [min, max] = [link.x[stage.from], link.x[stage.to]];
		if (min === undefined || max === undefined || min >= max) return;
		if (stage.to === model.length - 1) link.showFrom(min);
		else link.setRange({ min, max });
	}

	#renderStages(): void {
		const { link, model } = this.#needs;
		this.#stages = stageRanges(model.table);
		this.#stage.setHidden(this.#stages.length < 2);
		const shown = stageInView(this.#stages, link.x, link.range);
		const choices = [
			{ value: 'all', label: 'All stages' },
			...this.#stages.map((stage, i) => ({ value: String(i), label: stage.label })),
			...(shown === null ? [{ value: 'part', label: 'Custom range' }] : []),
		];
		const value = shown === null ? 'part' : String(shown);
		const key = JSON.stringify(choices);
		if (key !== this.#stageKey) this.#stage.setChoices(choices, value);
		else this.#stage.setValue(value);
		this.#stageKey = key;
	}

	/** Renders the step, time, stage and events at the cursor. */
	#renderReadout(): void {
		const { link, model } = this.#needs;
		const row = link.cursor;
		const { table } = model;
		this.#readout.classList.toggle('part', row === null);
		if (row === null || row >= table.length) {
			const range = link.range;
			setText(
				this.#readout,
				range ? `${formatX(Math.round(range.min), link.axis)} \u2013 ${formatX(Math.round(range.max), link.axis)}` : '',
			);
			return;
		}
		const step = table.step[row] as number;
		const found = (model.alerts?.alerts ?? []).filter((alert) => alert.step === step && !alert.dismissed);
		const events = [
			...found.map(({ title }) => title),
			...model.marks.filter((mark) => mark.step === step && mark.kind !== 'stage').map((mark) => mark.label),
		];
		const parts = [
			`step ${step}`,
			formatClock(link.elapsed[row] ?? 0),
			table.stageAt(row) ?? '',
			...(events.length === 0 ? ['Ctrl+Click (Cmd+Click) opens its rollouts'] : events.slice(0, 3)),
		];
		setText(this.#readout, parts.filter(Boolean).join(' \u00b7 '));
	}
}
