import { Disposable } from '../../src/base/disposable.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import { type DataChart, DataChartView } from '../lib/charts/dataChart.ts';
import { button } from '../lib/controls.ts';
import { element, setText, uniqueId } from '../lib/dom.ts';
import type { Theme } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ComparisonModel } from './comparisonModel.ts';

/** Chart of one metric against another, with a point for each step at which a run has both. */
export class MetricPairCard extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ComparisonModel;
	readonly #x: string;
	readonly #y: string;
	readonly #view: DataChartView;
	readonly #note = element('p', { class: 'quiet curve-note', hidden: true });

	constructor(x: string, y: string, model: ComparisonModel, theme: () => Theme) {
		super();
		this.#model = model;
		this.#x = x;
		this.#y = y;
		this.#view = this.register(new DataChartView(theme));
		const titleId = uniqueId('pair');
		const title = `${titleOf(y)} by ${titleOf(x)}`;
		const unpin = button({
			label: `Unpin: ${title}`,
			title: 'Unpin',
			appearance: 'icon',
			icon: 'pin',
			pressed: true,
			onClick: () => model.togglePin({ x, y }),
		});
		this.element = element(
			'section',
			{ class: 'card', aria: { labelledby: titleId }, data: { pair: `${x}|${y}` } },
			element(
				'header',
				{ class: 'card-header' },
				element('h3', { id: titleId, class: 'curve-title' }, title),
				element('span', { class: 'spacer' }),
				unpin.element,
			),
			this.#view.element,
			this.#note,
		);
		this.update();
	}

	update(): void {
		const chart = metricPair(this.#model, this.#x, this.#y);
		this.#note.hidden = chart.series.length > 0;
		setText(this.#note, 'No run has both metrics at the same step.');
		this.#view.set(chart.series.length > 0 ? chart : null);
	}

	/** Redraws after a theme change. */
	rebuild(): void {
		this.#view.draw();
	}
}

const titleOf = (metric: string) => plainLabel(describeMetric(metric).title, 80);

/** Returns the points of the visible runs that have both metrics. */
export function metricPair(
	model: Pick<ComparisonModel, 'runs' | 'points' | 'hidden'>,
	x: string,
	y: string,
): DataChart {
	const series = model.points.flatMap(({ names, values }, run) => {
		const [across, up] = [values[names.indexOf(x)], values[names.indexOf(y)]];
		if (across === undefined || up === undefined || model.hidden.has(run)) return [];
		const rows = Array.from(across, (_, i) => i).filter((i) => !Number.isNaN(across[i]) && !Number.isNaN(up[i]));
		if (rows.length === 0) return [];
		return [
			{
				label: model.runs[run]?.name ?? '',
				color: run,
				x: rows.map((i) => across[i] as number),
				y: rows.map((i) => up[i] as number),
			},
		];
	});
	return { kind: 'scatter', xLabel: titleOf(x), yLabel: titleOf(y), categories: null, series };
}
