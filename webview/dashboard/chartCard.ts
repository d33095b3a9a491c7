import { Disposable } from '../../src/base/disposable.ts';
import { formatPercent } from '../../src/base/format.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import type { ChartExport } from '../../src/protocol/dashboardMessages.ts';
import { bandKey, type ChartSpec, canBeLog, hiddenOf } from '../lib/charts/chartSpec.ts';
import { ChartTable, rowsWithValues } from '../lib/charts/chartTable.ts';
import { Plot } from '../lib/charts/plot.ts';
import type { PlotLink } from '../lib/charts/plotLink.ts';
import type { PlotMark } from '../lib/charts/plotMarks.ts';
import { formatValue, formatX } from '../lib/charts/plotScales.ts';
import { rowsOfRange } from '../lib/charts/rowRange.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { element, fill, setAria, setText, uniqueId } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import type { Theme } from '../lib/theme.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { metricsOf } from './chartCatalog.ts';
import type { DashboardModel } from './dashboardModel.ts';
import { explainChart, explainMetric, metricContext } from './explanations.ts';
import { ShareBar } from './shareBar.ts';

export interface CardNeeds {
	readonly model: DashboardModel;
	readonly link: PlotLink;
	readonly tooltip: Tooltip;
	readonly theme: () => Theme;
	readonly marks: () => readonly PlotMark[];
	readonly onOpen: (row: number) => void;
	readonly onExport: (card: ChartCard, kind: ChartExport) => void;
	readonly isPinned: (spec: ChartSpec) => boolean;
	readonly onPin: (card: ChartCard) => void;
	/** Called after the user toggles an option, to save the card's state. */
	readonly onToggle: (card: ChartCard) => void;
}

export interface CardState {
	/** Lines and bands whose visibility was changed from the default. */
	readonly switched: ReadonlySet<string>;
	/** Whether the log axis was changed from the metric's default. */
	readonly logToggled: boolean;
	readonly table: boolean;
}

interface LegendEntry {
	/** Metric or band key that the entry toggles. */
	readonly key: string;
	readonly color: number;
	/** null for a band, which has no value. */
	readonly metric: string | null;
	/** Whether the line serves as a reference for the other lines. */
	readonly reference: boolean;
	readonly button: HTMLButtonElement;
	readonly swatch: HTMLElement;
	readonly value: HTMLElement;
}

/** Chart with title, explanation, legend (values at the cursor) and table. */
export class ChartCard extends Disposable {
	readonly element: HTMLElement;
	readonly plot: Plot;
	readonly #needs: CardNeeds;
	readonly #legend = element('div', { class: 'legend', role: 'group', aria: { label: 'Lines' } });
	readonly #note = element('p', { class: 'chart-note', hidden: true });
	readonly #body = element('div', { class: 'chart-body' });
	readonly #pin: ButtonControl;
	readonly #log: ButtonControl;
	readonly #tableButton: ButtonControl;
	#spec: ChartSpec;
	#state: CardState;
	#entries: LegendEntry[] = [];
	#table: ChartTable | null = null;
	/** For stacked charts: share of each part over the visible rows. */
	readonly #shareBar: ShareBar | null;

	constructor(spec: ChartSpec, state: CardState, needs: CardNeeds) {
		super();
		this.#spec = spec;
		this.#state = state;
		this.#needs = needs;
		this.#shareBar = spec.kind === 'stack' ? this.register(this.#newShareBar()) : null;
		const titleId = uniqueId('chart');
		const title = element('h3', { id: titleId, class: 'chart-title' }, spec.title);
		const about = element(
			'button',
			{ class: 'about', aria: { label: `About ${spec.title}` }, attributes: { type: 'button' } },
			icon('info'),
		);
		const explain = () => explainChart(this.#spec, metricContext(needs.model.run, this.#stage()));
		this.register(needs.tooltip.explain(title, explain));
		this.register(needs.tooltip.explain(about, explain));
		this.#pin = button({
			label: `Pin: ${spec.title}`,
			title: 'Pin to the top of dashboards and comparisons in this workspace',
			appearance: 'icon',
			icon: 'pin',
			pressed: needs.isPinned(spec),
			onClick: () => needs.onPin(this),
		});
		this.#log = button({
			label: `Log axis: ${spec.title}`,
			title: 'Log axis',
			appearance: 'icon',
			icon: 'log10',
			pressed: false,
			onClick: () => this.#change({ logToggled: !this.#state.logToggled }),
		});
		this.#tableButton = button({
			label: `Table: ${spec.title}`,
			title: 'Show as table',
			appearance: 'icon',
			icon: 'table',
			pressed: false,
			onClick: () => this.#change({ table: !this.#state.table }),
		});
		const exportButton = (kind: ChartExport) =>
			button({
				label: `Save ${spec.title} as ${kind.toUpperCase()}`,
				title: kind === 'png' ? 'Save chart as PNG' : 'Save data as CSV',
				appearance: 'icon',
				icon: kind === 'png' ? 'image' : 'download',
				onClick: () => needs.onExport(this, kind),
			}).element;
		this.element = element(
			'section',
			{
				class: `card card-${spec.size ?? spec.kind}`,
				aria: { labelledby: titleId },
				data: { chart: spec.id },
			},
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
					this.#pin.element,
					this.#log.element,
					this.#tableButton.element,
					exportButton('png'),
					exportButton('csv'),
				),
			),
			this.#legend,
			this.#shareBar?.element ?? null,
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
				...(this.#shareBar === null ? {} : { onDraw: (from, to) => this.#shareBar?.drawn(from, to) }),
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

	/** Hidden lines and bands. */
	get hidden(): ReadonlySet<string> {
		return hiddenOf(this.#spec, this.#state.switched);
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

	/** Redraws after the data has changed. */
	update(): void {
		// The log axis becomes available with the first positive value.
		if (this.#showLog() !== this.plot.settings.log) this.applySettings();
		else this.plot.update();
		this.#pin.setPressed(this.#needs.isPinned(this.#spec));
		this.#showValues();
		this.#fillTable();
	}

	/** Redraws after smoothing, visibility or axis settings have changed. */
	applySettings(): void {
		const { model } = this.#needs;
		const { hidden } = this;
		const log = this.#showLog();
		this.plot.setSettings({ hidden, smoothing: model.smoother.weight > 0, log });
	}

	/** @returns whether to use a log axis: the user must have requested it, and there must be a positive value */
	#showLog(): boolean {
		const { model } = this.#needs;
		const wanted = this.log && this.#spec.kind === 'lines';
		const log = wanted && canBeLog(this.#spec, model, this.hidden);
		this.#log.setPressed(log);
		this.#log.setHidden(this.#spec.kind === 'stack');
		this.#note.hidden = !wanted || log || model.length === 0;
		if (!this.#note.hidden) setText(this.#note, 'No positive values to show on a log axis.');
		return log;
	}

	rebuild(): void {
		this.#paintLegend();
		this.#showValues();
		this.plot.rebuild();
	}

	/** Describes the values at an x position. */
	describe(row: number): string {
		const { link } = this.#needs;
		const at = link.x[row];
		const where = at === undefined ? '' : `${link.axis === 'step' ? 'step' : 'time'} ${formatX(at, link.axis)}: `;
		const values = this.#spec.lines
			.filter((line) => !this.hidden.has(line.metric))
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
		this.#entries = [
			...this.#spec.lines.map(({ metric, label, color, reference }) =>
				this.#entry(metric, metric, label, color, reference),
			),
			...this.#spec.bands.map((band) => this.#entry(bandKey(band), null, band.label, band.color)),
		];
		fill(this.#legend, ...this.#entries.map((entry) => entry.button));
		this.plot.setSpec(this.#spec);
		this.#table?.dispose();
		this.#table = null;
		this.applySettings();
		this.#showBody();
		this.#paintLegend();
		this.#showValues();
	}

	#newShareBar(): ShareBar {
		const { model, theme } = this.#needs;
		return new ShareBar({
			source: model,
			theme,
			lines: () => this.#spec.lines.filter((line) => !this.hidden.has(line.metric)),
			onChange: () => this.#showValues(),
		});
	}

	#entry(key: string, metric: string | null, label: string, color: number, reference = false): LegendEntry {
		const { tooltip, model } = this.#needs;
		const kind = metric === null ? ' band' : reference ? ' reference' : '';
		const swatch = element('span', { class: `swatch${kind}`, aria: { hidden: true } });
		const value = element('span', { class: 'value' });
		// The chart title already identifies a single line.
		const alone = metric !== null && this.#spec.lines.length === 1;
		const button = element(
			'button',
			{
				class: alone ? 'legend-entry alone' : 'legend-entry',
				attributes: { type: 'button' },
				on: { click: () => this.#toggle(key) },
			},
			swatch,
			element('span', { class: 'legend-label' }, label),
			value,
		);
		if (metric !== null) {
			tooltip.explain(button, () => explainMetric(metric, metricContext(model.run, this.#stage())));
		}
		return { key, color, metric, reference, button, swatch, value };
	}

	#toggle(key: string): void {
		const switched = new Set(this.#state.switched);
		if (!switched.delete(key)) switched.add(key);
		this.#change({ switched });
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
		const { hidden: off } = this;
		for (const entry of this.#entries) {
			const hidden = off.has(entry.key);
			const color = entry.reference
				? theme.secondary
				: (theme.series[entry.color % theme.series.length] ?? theme.foreground);
			const fillColor = entry.metric === null ? theme.fill(entry.color, 0.3) : color;
			entry.swatch.style.background = hidden ? 'transparent' : fillColor;
			entry.swatch.style.borderColor = hidden || entry.metric !== null ? color : 'transparent';
			entry.button.classList.toggle('off', hidden);
			setAria(entry.button, 'pressed', !hidden);
		}
	}

	/** For stacked charts: shows the shares at the cursor, or the mean over the visible rows. */
	#showShares(bar: ShareBar): void {
		const { model, link } = this.#needs;
		const shares = bar.show(link.cursor, model.table.step[link.cursor ?? -1]);
		if (shares === null) return;
		const { unit } = this.#spec;
		for (const { metric, value } of this.#entries) {
			const part = metric === null ? undefined : shares.parts.get(metric);
			setText(value, part ? `${formatValue(part.mean, unit)} \u00b7 ${formatPercent(part.share, 0)}` : '\u2013');
		}
	}

	#showValues(): void {
		const { model, link } = this.#needs;
		if (this.#shareBar !== null) {
			this.#showShares(this.#shareBar);
			return;
		}
		for (const { metric, value } of this.#entries) {
			if (metric === null) continue;
			setText(value, this.#valueAt(metric, link.cursor ?? model.table.lastRow(metric)));
		}
	}

	/** Formats a metric's value at a row; for sparse metrics, uses the last measurement before the row. */
	#valueAt(metric: string, row: number): string {
		const { model } = this.#needs;
		const { unit } = describeMetric(metric);
		const column = model.column(metric);
		if (!column || row < 0) return formatValue(null, unit);
		let at = row;
		if (model.gaps(metric) !== 'kept') while (at > 0 && Number.isNaN(column[at])) at--;
		return formatValue(column[at], unit);
	}
}
