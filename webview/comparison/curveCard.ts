import { Disposable } from '../../src/base/disposable.ts';
import { highOf, lowOf } from '../../src/core/comparison/seedGroups.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import { type ChartSpec, canBeLog } from '../lib/charts/chartSpec.ts';
import { ChartTable, rowsWithValues } from '../lib/charts/chartTable.ts';
import { Plot } from '../lib/charts/plot.ts';
import type { PlotLink } from '../lib/charts/plotLink.ts';
import { formatValue, formatX } from '../lib/charts/plotScales.ts';
import { rowsOfRange } from '../lib/charts/rowRange.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { element, fill, setText, uniqueId } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import type { Theme } from '../lib/theme.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { type ComparisonModel, columnKey } from './comparisonModel.ts';
import { curveSpec } from './curveCatalog.ts';
import { lineSample, withLineStyles } from './lineStyles.ts';
import { explainShared } from './metricExplanation.ts';

export interface CurveNeeds {
	readonly model: ComparisonModel;
	readonly link: PlotLink;
	readonly theme: () => Theme;
	readonly tooltip: Tooltip;
}

/** Chart of one metric for all runs, with curves, values at the cursor, and a table. */
export class CurveCard extends Disposable {
	readonly element: HTMLElement;
	readonly metric: string;
	readonly #needs: CurveNeeds;
	readonly #legend = element('ul', { class: 'curve-legend', aria: { label: 'Values' } });
	readonly #note = element('p', { class: 'quiet curve-note', hidden: true });
	readonly #body = element('div', { class: 'curve-body' });
	readonly #pin: ButtonControl;
	readonly #log: ButtonControl;
	readonly #tableButton: ButtonControl;
	readonly #plot: Plot;
	#spec: ChartSpec;
	#runs: number[] = [];
	#values = new Map<number, HTMLElement>();
	#table: ChartTable | null = null;
	#tableRuns = '';
	#asTable = false;

	constructor(metric: string, needs: CurveNeeds) {
		super();
		this.metric = metric;
		this.#needs = needs;
		const { model, link, tooltip } = needs;
		this.#spec = curveSpec(metric, model);
		const titleId = uniqueId('curve');
		const title = element('h3', { id: titleId, class: 'curve-title' }, this.#spec.title);
		const about = element(
			'button',
			{ class: 'about', attributes: { type: 'button' }, aria: { label: `About ${this.#spec.title}` } },
			icon('info'),
		);
		const explain = () => explainShared(metric, model.runs);
		this.register(tooltip.explain(title, explain));
		this.register(tooltip.explain(about, explain));
		this.#pin = button({
			label: `Pin: ${this.#spec.title}`,
			title: 'Pin to the top of dashboards and comparisons in this workspace',
			appearance: 'icon',
			icon: 'pin',
			pressed: false,
			onClick: () => model.togglePin({ x: null, y: metric }),
		});
		this.#log = button({
			label: `Log axis: ${this.#spec.title}`,
			title: 'Log axis',
			appearance: 'icon',
			icon: 'log10',
			pressed: false,
			onClick: () => model.toggleLog(metric),
		});
		this.#tableButton = button({
			label: `Table: ${this.#spec.title}`,
			title: 'Show as table',
			appearance: 'icon',
			icon: 'table',
			pressed: false,
			onClick: () => {
				this.#asTable = !this.#asTable;
				this.#showBody();
			},
		});
		this.element = element(
			'section',
			{ class: 'card', aria: { labelledby: titleId }, data: { metric } },
			element(
				'header',
				{ class: 'card-header' },
				title,
				this.#spec.unitLabel !== '' && element('span', { class: 'quiet' }, this.#spec.unitLabel),
				about,
				element('span', { class: 'spacer' }),
				this.#pin.element,
				this.#log.element,
				this.#tableButton.element,
			),
			this.#legend,
			this.#body,
			this.#note,
		);
		this.#plot = this.register(
			new Plot(this.#spec, {
				link,
				source: model,
				theme: () => withLineStyles(needs.theme(), this.#styles()),
				marks: () => [],
				onOpen: () => {},
				describe: (row) => this.#describe(row),
			}),
		);
		this.register(link.onCursorChange(() => this.#showValues()));
		this.register(link.onViewChange(() => this.#fillTable()));
		this.register({ dispose: () => this.#table?.dispose() });
		this.update();
		this.#showBody();
	}

	/** Redraws after the data, names or settings have changed. */
	update(): void {
		const { model } = this.#needs;
		const runs = model.linesWith(this.metric);
		const recorded = model.runsWith(this.metric);
		this.#spec = curveSpec(this.metric, model);
		if (JSON.stringify(this.#spec) !== JSON.stringify(this.#plot.spec) || runs.join() !== this.#runs.join()) {
			this.#runs = runs;
			this.#plot.setSpec(this.#spec);
			this.#buildLegend();
		}
		const hidden = new Set([...model.hidden].map((run) => columnKey(run, this.metric)));
		const wanted = describeMetric(this.metric).logScale !== model.logToggled.has(this.metric);
		const log = wanted && canBeLog(this.#spec, model, hidden);
		this.#log.setPressed(log);
		this.#pin.setPressed(model.isPinned({ x: null, y: this.metric }));
		this.#plot.setSettings({ hidden, smoothing: model.smoother.weight > 0, log });
		const missing = model.runs.flatMap(({ name, loaded }, run) =>
			loaded && !recorded.includes(run) ? [plainLabel(name, 60)] : [],
		);
		const notes = [
			...(missing.length > 0 ? [`Not recorded by ${missing.join(', ')}.`] : []),
			...(wanted && !log && model.length > 0 ? ['No positive values to show on a log axis.'] : []),
		];
		this.#note.hidden = notes.length === 0;
		setText(this.#note, notes.join(' '));
		this.#showValues();
		this.#fillTable();
	}

	/** Redraws after a theme change. */
	rebuild(): void {
		this.#buildLegend();
		this.#plot.rebuild();
	}

	#buildLegend(): void {
		const { theme: themeOf, model } = this.#needs;
		const theme = themeOf();
		this.#values = new Map();
		fill(
			this.#legend,
			...this.#spec.lines.map((line, i) => {
				const run = this.#runs[i] as number;
				const value = element('span', { class: 'value' });
				this.#values.set(run, value);
				return element(
					'li',
					{ class: 'curve-entry', data: { run } },
					lineSample(model.membersOf(run)[0] ?? run, theme),
					element('span', { class: 'curve-run' }, line.label),
					value,
				);
			}),
		);
		this.#showValues();
	}

	#showValues(): void {
		const { model, link } = this.#needs;
		for (const [run, node] of this.#values) {
			const key = columnKey(run, this.metric);
			const value = link.cursor === null ? model.lastValue(key) : model.valueAt(key, link.cursor);
			setText(node, `${formatValue(value, this.#spec.unit)}${this.#spread(run)}`);
			node.parentElement?.classList.toggle('off', model.hidden.has(run));
		}
	}

	/** Style of each line, taken from its first run. */
	#styles(): number[] {
		return this.#runs.map((line) => this.#needs.model.membersOf(line)[0] ?? line);
	}

	/** Formats the standard deviation of a mean at the cursor, such as " ±0.03". */
	#spread(line: number): string {
		const { model, link } = this.#needs;
		if (model.membersOf(line).length < 2) return '';
		const at = (metric: string) => model.valueAt(columnKey(line, metric), link.cursor ?? model.length - 1);
		const half = (at(highOf(this.metric)) - at(lowOf(this.metric))) / 2;
		return Number.isNaN(half) ? '' : ` ±${formatValue(half, this.#spec.unit)}`;
	}

	#describe(row: number): string {
		const { model, link } = this.#needs;
		const values = this.#spec.lines
			.filter((_, i) => !model.hidden.has(this.#runs[i] as number))
			.map(({ label, metric }) => `${label} ${formatValue(model.valueAt(metric, row), this.#spec.unit)}`);
		return `${placeWords(model, link, row)}: ${values.join(', ')}`;
	}

	#showBody(): void {
		this.#tableButton.setPressed(this.#asTable);
		if (!this.#asTable) {
			this.#table?.dispose();
			this.#table = null;
			if (this.#plot.element.parentElement !== this.#body) fill(this.#body, this.#plot.element);
			return;
		}
		this.#fillTable();
	}

	#fillTable(): void {
		if (!this.#asTable) return;
		const { model, link } = this.#needs;
		const runs = JSON.stringify([this.#spec.lines, model.axis]);
		if (this.#table === null || runs !== this.#tableRuns) {
			this.#tableRuns = runs;
			this.#table?.dispose();
			this.#table = new ChartTable(`${this.#spec.title}, table`, [
				{ label: axisNames[model.axis], cell: (row) => placeWords(model, link, row) },
				...this.#spec.lines.map(({ label, metric }) => ({
					label,
					cell: (row: number) => formatValue(model.column(metric)?.[row], this.#spec.unit),
				})),
			]);
			fill(this.#body, this.#table.element);
		}
		const { from, to } = rowsOfRange(link.x, link.range);
		const columns = this.#spec.lines.map(({ metric }) => model.column(metric));
		this.#table.setRows(rowsWithValues(columns, from, to));
	}
}

export const axisNames = { step: 'Step', tokens: 'Tokens', time: 'Time' } as const;

/** Formats a position: "step 12", "1.2 million tokens", "0:12:30". */
export function placeWords(model: ComparisonModel, link: PlotLink, row: number): string {
	const at = link.x[row];
	if (at === undefined) return '';
	if (model.axis === 'time') return formatX(at, 'time');
	return model.axis === 'step' ? `step ${formatX(at, 'step')}` : `${formatX(at, 'step')} tokens`;
}
