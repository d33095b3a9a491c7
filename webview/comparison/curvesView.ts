import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted, formatNumber } from '../../src/base/format.ts';
import type { OverlayAxis } from '../../src/core/comparison/overlay.ts';
import { MetricPairCards } from '../lib/charts/metricPairCards.ts';
import { NewChart } from '../lib/charts/newChart.ts';
import { PlotLink } from '../lib/charts/plotLink.ts';
import {
	type CheckboxControl,
	checkbox,
	type DropdownControl,
	dropdown,
	type SliderControl,
	slider,
	textField,
} from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ComparisonModel } from './comparisonModel.ts';
import { CurveCard, type CurveNeeds } from './curveCard.ts';
import { groupMetrics } from './curveCatalog.ts';
import { pairAcrossRuns } from './pairAcrossRuns.ts';

const axisChoices: readonly { readonly value: OverlayAxis; readonly label: string }[] = [
	{ value: 'step', label: 'Step' },
	{ value: 'tokens', label: 'Tokens' },
	{ value: 'time', label: 'Wall time' },
];

/** Maximum number of charts shown without group headings. */
const fewCharts = 12;

/** View that overlays the runs' shared metrics. */
export class CurvesView extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ComparisonModel;
	readonly #link = this.register(new PlotLink());
	readonly #needs: CurveNeeds;
	readonly #cards = new Map<string, CurveCard>();
	readonly #pairs: MetricPairCards;
	readonly #grouping: CheckboxControl;
	readonly #newChart: NewChart;
	readonly #groups = element('div', { class: 'groups' });
	readonly #notes = element('div', { class: 'curve-notes quiet' });
	readonly #axis: DropdownControl;
	readonly #smoothing: SliderControl;

	constructor(model: ComparisonModel, themes: ThemeWatcher, tooltip: Tooltip) {
		super();
		this.#model = model;
		this.#needs = { model, link: this.#link, theme: () => themes.theme, tooltip };
		this.#pairs = this.register(
			new MetricPairCards({
				pointsOf: (pair) => pairAcrossRuns(model, pair),
				onUnpin: (pair) => model.togglePin(pair),
				theme: () => themes.theme,
			}),
		);
		this.#axis = dropdown({
			label: 'X axis',
			showLabel: true,
			choices: axisChoices,
			value: model.axis,
			onChange: (value) => model.setAxis(value as OverlayAxis),
		});
		this.#smoothing = slider({
			label: 'Smoothing',
			title: 'EMA smoothing weight',
			min: 0,
			max: 0.99,
			step: 0.01,
			value: model.smoother.weight,
			format: (value) => (value === 0 ? 'off' : formatNumber(value, 2)),
			onInput: (value) => model.setSmoothing(value),
		});
		const filter = textField({
			label: 'Filter metrics',
			placeholder: 'Filter metrics',
			icon: 'filter',
			value: model.filter,
			onInput: (value) => model.setFilter(value),
		});
		this.#grouping = checkbox({
			label: 'Mean over seeds',
			title: 'Draw runs that differ only in their seed as one line: their mean ±1 SD',
			checked: model.grouped,
			onChange: (grouped) => model.setGrouped(grouped),
		});
		this.#newChart = new NewChart((chart) => {
			if (!model.isPinned(chart)) model.togglePin(chart);
		});
		this.element = element(
			'div',
			{ class: 'curves' },
			element(
				'div',
				{ class: 'toolbar' },
				this.#axis.element,
				this.#smoothing.element,
				filter.element,
				this.#grouping.element,
				this.#newChart.button,
			),
			this.#newChart.element,
			this.#notes,
			this.#groups,
		);
		this.register(
			themes.onChange(() => {
				for (const card of this.#cards.values()) card.rebuild();
				this.#pairs.rebuild();
			}),
		);
		this.register({
			dispose: () => {
				for (const card of this.#cards.values()) card.dispose();
			},
		});
		this.update(true);
	}

	/** @param data whether rows have changed */
	update(data: boolean): void {
		const model = this.#model;
		this.#axis.setValue(model.axis);
		this.#smoothing.setValue(model.smoother.weight);
		if (data) {
			// Token counts are integers, like steps. The link's time axis is in seconds since the first row.
			const time = model.axis === 'time';
			this.#link.setRows(time ? model.x : model.x, time ? model.x : model.x);
			this.#link.setAxis(time ? 'time' : 'step');
		}
		this.#grouping.setHidden(!model.hasGroups);
		this.#grouping.setChecked(model.grouped);
		const { metrics: shared } = model;
		this.#newChart.setMetrics(shared);
		const pinned = model.pinned.flatMap(({ x, y }) => (x === null && shared.includes(y) ? [y] : []));
		const groups = groupMetrics(
			shared.filter((metric) => !pinned.includes(metric)),
			model.filter,
		);
		const wanted = new Set([...pinned, ...groups.flatMap(({ metrics }) => metrics)]);
		this.#pairs.set(
			model.pinned.flatMap(({ x, y }) => (x !== null && shared.includes(x) && shared.includes(y) ? [{ x, y }] : [])),
		);
		this.#pairs.update();
		for (const [metric, card] of this.#cards) {
			if (wanted.has(metric)) continue;
			card.dispose();
			card.element.remove();
			this.#cards.delete(metric);
		}
		for (const metric of wanted) {
			const card = this.#cards.get(metric);
			if (card) card.update();
			else this.#cards.set(metric, new CurveCard(metric, this.#needs));
		}
		this.#layout(groups, pinned);
		this.#note();
	}

	/** Places a small number of charts in a single grid without headings. */
	#layout(all: ReturnType<typeof groupMetrics>, pinned: readonly string[]): void {
		const count = all.reduce((sum, { metrics }) => sum + metrics.length, 0);
		const groups =
			count > fewCharts || all[0] === undefined
				? all
				: [{ ...all[0], title: 'Shared metrics', metrics: all.flatMap(({ metrics }) => metrics) }];
		const pins = [...pinned.map((metric) => this.#cards.get(metric)?.element), ...this.#pairs.elements.values()];
		const key = JSON.stringify([groups, pinned, [...this.#pairs.elements.keys()]]);
		const some = groups.length > 0 || pins.length > 0;
		if (some && this.#groups.dataset.key === key) return;
		this.#groups.dataset.key = some ? key : '';
		fill(
			this.#groups,
			pins.length === 0
				? null
				: element(
						'section',
						{ class: 'group' },
						element('h2', null, 'Pinned charts'),
						element('div', { class: 'grid' }, ...pins),
					),
			groups.length === 0 ? this.#absence() : null,
			...groups.map(({ title, metrics }) =>
				element(
					'section',
					{ class: 'group' },
					element('h2', null, title),
					element('div', { class: 'grid' }, ...metrics.map((metric) => this.#cards.get(metric)?.element)),
				),
			),
		);
	}

	#absence(): HTMLElement {
		const model = this.#model;
		if (model.filter.trim() !== '' && model.metrics.length > 0) {
			return emptyState({
				title: 'No metrics match',
				text: `No match for "${plainLabel(model.filter, 60)}" among ${formatCounted(model.metrics.length, 'shared metric')}.`,
				actions: [{ label: 'Clear Filter', run: () => model.setFilter('') }],
			});
		}
		const loading = model.runs.filter(({ loaded }) => !loaded);
		if (loading.length > 0) {
			return emptyState({ title: 'Loading runs…', text: 'Curves appear as data loads.', actions: [] });
		}
		return emptyState({
			title: 'No shared metrics',
			text: 'No two runs recorded a metric under the same name. The other tabs may still have data.',
			actions: [{ label: 'Select Runs', run: () => model.host.post({ type: 'choose' }) }],
		});
	}

	#note(): void {
		const model = this.#model;
		const { runs, points, alone, offAxis } = model;
		const name = (run: number): string => plainLabel(runs[run]?.name ?? '', 60);
		const notes: string[] = [];
		for (const run of offAxis) notes.push(`${name(run)} is hidden because it has no token counts.`);
		points.forEach(({ rowsPerPoint }, run) => {
			if (rowsPerPoint > 1)
				notes.push(`Each point for ${name(run)} is the mean of ${formatCounted(rowsPerPoint, 'step')}.`);
		});
		if (model.hasGroups && model.grouped) {
			notes.push('Runs that differ only in their seed are drawn as one line: their mean ±1 SD (n − 1).');
		}
		const lone = alone.flatMap((count, run) => (count > 0 ? [`${count} of ${name(run)}`] : []));
		if (lone.length > 0) notes.push(`Metrics that only one run recorded are not shown: ${lone.join(', ')}.`);
		runs.forEach(({ droppedNames }, run) => {
			if (droppedNames > 0) notes.push(`${name(run)} has too many metrics, so some of them are not compared.`);
		});
		fill(this.#notes, ...notes.map((words) => element('p', null, words)));
	}
}
