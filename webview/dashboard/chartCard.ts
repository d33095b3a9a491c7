import { Disposable } from '../../src/base/disposable.ts';
import { describeMetric } from '../../src/core/metrics/catalogue.ts';
import { bandKey, type ChartSpec, canBeLog, layersOf } from '../lib/charts/chartSpec.ts';
import { ChartTable, rowsWithValues } from '../lib/charts/chartTable.ts';
import { rowsOfRange } from '../lib/charts/pickRows.ts';
import { Plot } from '../lib/charts/plot.ts';
import type { PlotLink } from '../lib/charts/plotLink.ts';
import type { PlotMark } from '../lib/charts/plotMarks.ts';
import { formatValue, formatX } from '../lib/charts/plotScales.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { element, fill, setAria, setText, uniqueId } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import type { Theme } from '../lib/theme.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { metricsOf } from './chartCatalogue.ts';
import type { DashboardModel } from './dashboardModel.ts';
import { explainChart, explainMetric, metricContext } from './explanations.ts';

export interface CardNeeds {
	readonly model: DashboardModel;
	readonly link: PlotLink;
	readonly tooltip: Tooltip;
	readonly theme: () => Theme;
	readonly marks: () => readonly PlotMark[];
	readonly onOpen: (row: number) => void;
	readonly onExport: (card: ChartCard, kind: 'png' | 'csv') => void;
	/** The person switched something; the card's state is to be saved. */
	readonly onToggle: (card: ChartCard) => void;
}

export interface CardState {
	readonly hidden: ReadonlySet<string>;
	/** Logarithmic, against what its metric asks for. */
	readonly logToggled: boolean;
	readonly table: boolean;
}

interface LegendEntry {
	readonly metric: string;
	readonly button: HTMLButtonElement;
	readonly swatch: HTMLElement;
	readonly value: HTMLElement;
}

/** A chart with its title, its explanation, a legend that tells the values at the cursor, and its table. */
export class ChartCard extends Disposable {
	readonly element: HTMLElement;
	readonly plot: Plot;
	readonly #needs: CardNeeds;
	readonly #legend = element('div', { class: 'legend', role: 'group', aria: { label: 'Lines' } });
	readonly #note = element('p', { class: 'chart-note', hidden: true });
	readonly #body = element('div', { class: 'chart-body' });
	readonly #log: ButtonControl;
	readonly #tableButton: ButtonControl;
	#spec: ChartSpec;
	#state: CardState;
	#entries: LegendEntry[] = [];
	#table: ChartTable | null = null;

	constructor(spec: ChartSpec, state: CardState, needs: CardNeeds) {
		super();
		this.#spec = spec;
		this.#state = state;
		this.#needs = needs;
		const titleId = uniqueId('chart');
		const title = element('h3', { id: titleId, class: 'chart-title' }, spec.title);
		const about = element(
			'button',
			{ class: 'about', aria: { label: `What ${spec.title} means` }, attributes: { type: 'button' } },
			icon('info'),
		);
		const explain = () => explainChart(this.#spec, metricContext(needs.model.run, this.#stage()));
		this.register(needs.tooltip.explain(title, explain));
		this.register(needs.tooltip.explain(about, explain));
		this.#log = button({
			label: `Logarithmic axis of ${spec.title}`,
			title: 'Logarithmic axis',
			appearance: 'icon',
			icon: 'log10',
			pressed: false,
			onClick: () => this.#change({ logToggled: !this.#state.logToggled }),
		});
		this.#tableButton = button({
			label: `${spec.title} as a table`,
			title: 'Show as a table',
			appearance: 'icon',
			icon: 'table',
			pressed: false,
			onClick: () => this.#change({ table: !this.#state.table }),
		});
		const exportButton = (kind: 'png' | 'csv') =>
			button({
				label: `Save ${spec.title} as ${kind.toUpperCase()}`,
				title: kind === 'png' ? 'Save the picture as PNG' : 'Save the numbers as CSV',
				appearance: 'icon',
				icon: kind === 'png' ? 'image' : 'download',
				onClick: () => needs.onExport(this, kind),
			}).element;
		this.element = element(
			'section',
			{ class: 'card', aria: { labelledby: titleId }, data: { chart: spec.id } },
			element(
				'header',
				{ class: 'card-header' },
				title,
				spec.unitLabel === '' ? null : element('span', { class: 'unit' }, spec.unitLabel),
				about,
				element('span', { class: 'spacer' }),
				element(
					'span',
					{ class: 'card-actions' },
					this.#log.element,
					this.#tableButton.element,
					exportButton('png'),
					exportButton('csv'),
				),
			),
			this.#legend,
			this.#body,
			this.#note,
		);
		this.plot = this.register(
			new Plot(spec, {
				link: needs.link,
				source: needs.model,
				theme: needs.theme,
				marks: needs.marks,
				onOpen: needs.onOpen,
				describe: (row) => this.describe(row),
			}),
		);
		this.register(needs.link.onCursorChange(() => this.#showValues()));
		this.register(needs.link.onViewChange(() => this.#fillTable()));
		this.register({ dispose: () => this.#table?.dispose() });
		this.#build();
	}

	get spec(): ChartSpec {
		return this.#spec;
	}

	get state(): CardState {
		return this.#state;
	}

	get log(): boolean {
		const first = this.#spec.lines[0];
		return (first ? describeMetric(first.metric).logScale : false) !== this.#state.logToggled;
	}

	setSpec(spec: ChartSpec): void {
		if (JSON.stringify(spec) === JSON.stringify(this.#spec)) return;
		this.#spec = spec;
		this.#build();
	}

	/** The numbers changed. */
	update(): void {
		this.plot.update();
		this.#showValues();
		this.#fillTable();
	}

	/** Smoothing, hidden lines or the axis changed. */
	applySettings(): void {
		const { model } = this.#needs;
		const smoothing = model.smoother.weight > 0;
		const { hidden } = this.#state;
		const possible = canBeLog(layersOf(this.#spec, model, { hidden, smoothing: false }).layers);
		const log = this.log && possible && this.#spec.kind === 'lines';
		this.#log.setPressed(log);
		this.#log.setHidden(this.#spec.kind === 'stack');
		const impossible = this.log && !possible && model.length > 0;
		this.#note.hidden = !impossible;
		if (impossible) setText(this.#note, 'No value above 0: a logarithmic axis would be empty.');
		this.plot.setSettings({ hidden, smoothing, log });
	}

	rebuild(): void {
		this.#paintLegend();
		this.plot.rebuild();
	}

	/** The values at a row, in words. */
	describe(row: number): string {
		const { link } = this.#needs;
		const at = link.x[row];
		const where = at === undefined ? '' : `${link.axis === 'step' ? 'step' : 'time'} ${formatX(at, link.axis)}: `;
		const values = this.#spec.lines
			.filter((line) => !this.#state.hidden.has(line.metric))
			.map((line) => `${line.label} ${this.#valueAt(line.metric, row)}`);
		return `${where}${values.join(', ')}`;
	}

	#stage(): string | undefined {
		const { model, link } = this.#needs;
		return model.table.stageAt(link.cursor ?? model.length - 1);
	}

	#change(change: Partial<CardState>): void {
		this.#state = { ...this.#state, ...change };
		this.#needs.onToggle(this);
		this.applySettings();
		this.#showBody();
		this.#paintLegend();
	}

	#build(): void {
		const { tooltip, model } = this.#needs;
		this.#entries = this.#spec.lines.map((line) => {
			const swatch = element('span', { class: 'swatch', aria: { hidden: true } });
			const value = element('span', { class: 'value' });
			const node = element(
				'button',
				{
					class: 'legend-entry',
					attributes: { type: 'button' },
					on: { click: () => this.#toggleLine(line.metric) },
				},
				swatch,
				element('span', { class: 'legend-label' }, line.label),
				value,
			);
			tooltip.explain(node, () => explainMetric(line.metric, metricContext(model.run, this.#stage())));
			return { metric: line.metric, button: node, swatch, value };
		});
		fill(this.#legend, ...this.#entries.map((entry) => entry.button));
		this.plot.setSpec(this.#spec);
		this.#table?.dispose();
		this.#table = null;
		this.applySettings();
		this.#showBody();
		this.#paintLegend();
		this.#showValues();
	}

	#toggleLine(metric: string): void {
		const hidden = new Set(this.#state.hidden);
		if (!hidden.delete(metric)) hidden.add(metric);
		this.#change({ hidden });
	}

	#showBody(): void {
		this.#tableButton.setPressed(this.#state.table);
		if (!this.#state.table) {
			this.#table?.dispose();
			this.#table = null;
			if (this.plot.element.parentElement !== this.#body) fill(this.#body, this.plot.element);
			return;
		}
		if (this.#table) return;
		const { model } = this.#needs;
		this.#table = new ChartTable(`${this.#spec.title}, table`, [
			{ label: 'Step', cell: (row) => String(model.table.step[row] ?? '') },
			...metricsOf(this.#spec).map((name) => ({
				label: describeMetric(name).title,
				cell: (row: number) => formatValue(model.table.value(name, row), describeMetric(name).unit),
			})),
		]);
		fill(this.#body, this.#table.element);
		this.#fillTable();
	}

	#fillTable(): void {
		if (!this.#table) return;
		const { model, link } = this.#needs;
		const { from, to } = rowsOfRange(link.x, link.range);
		this.#table.setRows(
			rowsWithValues(
				metricsOf(this.#spec).map((name) => model.column(name)),
				from,
				to,
			),
		);
	}

	#paintLegend(): void {
		const theme = this.#needs.theme();
		for (const [i, entry] of this.#entries.entries()) {
			const line = this.#spec.lines[i];
			if (!line) continue;
			const hidden = this.#state.hidden.has(entry.metric);
			const colour = theme.series[line.colour % theme.series.length] ?? theme.foreground;
			entry.swatch.style.background = hidden ? 'transparent' : colour;
			entry.swatch.style.borderColor = colour;
			entry.button.classList.toggle('off', hidden);
			setAria(entry.button, 'pressed', !hidden);
		}
	}

	#showValues(): void {
		const { model, link } = this.#needs;
		for (const entry of this.#entries) {
			const row = link.cursor ?? model.table.lastRow(entry.metric);
			setText(entry.value, this.#valueAt(entry.metric, row));
		}
	}

	/** A metric that is measured now and then has, between two measurements, the earlier one's value. */
	#valueAt(metric: string, row: number): string {
		const { model } = this.#needs;
		const { unit } = describeMetric(metric);
		const column = model.column(metric);
		if (!column || row < 0) return formatValue(null, unit);
		let at = row;
		if (model.gaps(metric) !== 'kept') while (at > 0 && Number.isNaN(column[at])) at--;
		return formatValue(column[at], unit);
	}

	/** Names under which lines and bands can be hidden. */
	get keys(): string[] {
		return [...this.#spec.lines.map((line) => line.metric), ...this.#spec.bands.map(bandKey)];
	}
}
