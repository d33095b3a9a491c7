import { Disposable } from '../../../src/base/disposable.ts';
import { describeMetric } from '../../../src/core/metrics/catalog.ts';
import { button } from '../controls.ts';
import { element, setText, uniqueId } from '../dom.ts';
import type { Theme } from '../theme.ts';
import { plainLabel } from '../trace/hiddenCharacters.ts';
import { DataChartView, type DataSeries } from './dataChart.ts';

/** Two metrics, one for each axis of a chart. */
export interface MetricPair {
	readonly x: string;
	readonly y: string;
}

export interface PairPoints {
	/** One series per run that has both metrics. */
	readonly series: readonly DataSeries[];
	/** Text below the chart; empty if there is nothing to add. */
	readonly note: string;
}

export interface PairNeeds {
	readonly pointsOf: (pair: MetricPair) => PairPoints;
	readonly onUnpin: (pair: MetricPair) => void;
	readonly theme: () => Theme;
}

/** Chart of one metric against another, with a point for each step at which a run has both. */
export class MetricPairCard extends Disposable {
	readonly element: HTMLElement;
	readonly #pair: MetricPair;
	readonly #needs: PairNeeds;
	readonly #view: DataChartView;
	readonly #note = element('p', { class: 'quiet pair-note', hidden: true });

	constructor(pair: MetricPair, needs: PairNeeds) {
		super();
		this.#pair = pair;
		this.#needs = needs;
		this.#view = this.register(new DataChartView(needs.theme));
		const titleId = uniqueId('pair');
		const title = pairTitle(pair);
		const unpin = button({
			label: `Unpin: ${title}`,
			title: 'Unpin',
			appearance: 'icon',
			icon: 'pin',
			pressed: true,
			onClick: () => needs.onUnpin(pair),
		});
		this.element = element(
			'section',
			{ class: 'card', aria: { labelledby: titleId }, data: { pair: `${pair.x}|${pair.y}` } },
			element(
				'header',
				{ class: 'card-header' },
				element('h3', { id: titleId, class: 'pair-title' }, title),
				element('span', { class: 'spacer' }),
				unpin.element,
			),
			this.#view.element,
			this.#note,
		);
		this.update();
	}

	update(): void {
		const { x, y } = this.#pair;
		const { series, note } = this.#needs.pointsOf(this.#pair);
		this.#note.hidden = note === '';
		setText(this.#note, note);
		this.#view.set(
			series.length === 0
				? null
				: { kind: 'scatter', xLabel: titleOf(x), yLabel: titleOf(y), categories: null, series },
		);
	}

	/** Redraws after a theme change. */
	rebuild(): void {
		this.#view.draw();
	}
}

const titleOf = (metric: string) => plainLabel(describeMetric(metric).title, 80);

export const pairTitle = ({ x, y }: MetricPair) => `${titleOf(y)} by ${titleOf(x)}`;
