import { Disposable } from '../../src/base/disposable.ts';
import type { ResultTable } from '../../src/protocol/rolloutIndex.ts';
import { type DataChartKind, DataChartView, dataChartKinds } from '../lib/charts/dataChart.ts';
import { element, fill } from '../lib/dom.ts';
import { type Select, select } from '../lib/select.ts';
import { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { QueryModel } from './queryModel.ts';
import { numericColumns, resultChart } from './resultChart.ts';
import type { ChartChoice } from './savedState.ts';

const kindNames: Readonly<Record<DataChartKind, string>> = { line: 'Line', bar: 'Bars', scatter: 'Points' };

/** Chart of a query result, with controls for its columns. */
export class ChartView extends Disposable {
	readonly element: HTMLElement;
	readonly #model: QueryModel;
	readonly #kind: Select;
	readonly #x: Select;
	readonly #y: Select;
	readonly #by: Select;
	readonly #view: DataChartView;
	readonly #notes = element('div', { class: 'quiet' });

	constructor(model: QueryModel) {
		super();
		this.#model = model;
		const themes = this.register(new ThemeWatcher());
		this.#view = this.register(new DataChartView(() => themes.theme));
		this.register(themes.onChange(() => this.#view.draw()));
		this.#kind = select('Chart type', (kind) => this.#change({ kind: kind as DataChartKind }));
		this.#x = select('X axis', (x) => this.#change({ x }));
		this.#y = select('Y axis', (y) => this.#change({ y }));
		this.#by = select('Series', (by) => this.#change({ by: by === '' ? null : by }));
		const labeled = (text: string, { element: control }: Select) =>
			element('span', { class: 'labeled' }, element('span', { aria: { hidden: true } }, text), control);
		this.element = element(
			'section',
			{ class: 'result-chart', aria: { label: 'Chart' }, hidden: true },
			element(
				'div',
				{ class: 'chart-bar' },
				labeled('Type', this.#kind),
				labeled('X axis', this.#x),
				labeled('Y axis', this.#y),
				labeled('Series', this.#by),
			),
			this.#view.element,
			this.#notes,
		);
	}

	/** @param table result, or null to hide the chart */
	update(table: ResultTable | null): void {
		const choice = table === null ? null : this.#model.chart;
		this.element.hidden = choice === null;
		if (table === null || choice === null) {
			this.#view.set(null);
			return;
		}
		const named = (name: string) => ({ value: name, label: plainLabel(name, 80) });
		const all = table.columns.map(({ name }) => named(name));
		this.#kind.set(
			dataChartKinds.map((kind) => ({ value: kind, label: kindNames[kind] })),
			choice.kind,
		);
		this.#x.set(all, choice.x);
		this.#y.set(numericColumns(table).map(named), choice.y);
		this.#by.set([{ value: '', label: 'One series' }, ...all], choice.by ?? '');
		const { chart, notes } = resultChart(table, choice);
		this.#view.set(chart);
		fill(this.#notes, ...notes.map((words) => element('p', null, words)));
	}

	#change(change: Partial<ChartChoice>): void {
		const { chart } = this.#model;
		if (chart !== null) this.#model.showChart({ ...chart, ...change });
	}
}
