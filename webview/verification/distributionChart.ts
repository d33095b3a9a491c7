import { Disposable } from '../../src/base/disposable.ts';
import { formatNumber } from '../../src/base/format.ts';
import { rovingFocus } from '../lib/a11y.ts';
import { element, fill } from '../lib/dom.ts';
import { rowHead, tableParts } from '../lib/staticTable.ts';
import { type Bin, binLabel, binWords, type Distribution, distribution, sourceNames } from './distribution.ts';
import { panel } from './panel.ts';
import type { ResultsModel } from './resultsModel.ts';

/** Maximum number of bins for which every bin gets a label. */
const named = 7;

/** Histogram grouped by source, with a table alternative. Clicking a bin shows its rows. */
export class DistributionChart extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #columns = element('div', {
		class: 'columns',
		role: 'group',
		aria: { label: 'Value distribution' },
	});
	readonly #axis = element('div', { class: 'axis', aria: { hidden: true } });
	readonly #legend = element('div', { class: 'legend' });
	readonly #table = element('table', { class: 'plain-table' });
	readonly #nothing = element('p', { class: 'quiet' }, 'No rows have a value.');
	readonly #chart: HTMLElement;
	readonly #focus;
	#made: Distribution = { bins: [], sources: [], highest: 0 };

	constructor(model: ResultsModel) {
		super();
		this.#model = model;
		this.#focus = this.register(rovingFocus(this.#columns, () => [...this.#columns.children] as HTMLElement[]));
		this.#chart = element(
			'div',
			{ class: 'distribution' },
			this.#columns,
			this.#axis,
			this.#legend,
			element('details', null, element('summary', null, 'Show as table'), this.#table),
		);
		this.element = panel('Distribution', null, this.#nothing, this.#chart);
	}

	update(): void {
		this.#made = distribution(this.#model.verified);
		const { bins, sources } = this.#made;
		this.#nothing.hidden = bins.length > 0;
		this.#chart.hidden = bins.length === 0;
		fill(this.#columns, ...bins.map((bin) => this.#column(bin)));
		this.#columns.classList.toggle('few', bins.length <= named);
		fill(this.#axis, ...axisLabels(bins).map((label) => element('span', null, label)));
		this.#axis.classList.toggle('few', bins.length <= named);
		fill(
			this.#legend,
			...sources.map((source) =>
				element('span', { class: 'key' }, element('span', { class: `swatch from-${source}` }), sourceNames[source]),
			),
		);
		fill(
			this.#table,
			...tableParts({
				caption: 'Rows by value and source',
				head: ['Value', 'Rows', ...sources.map((source) => sourceNames[source])],
				rows: bins.map((bin) => {
					const counts = [bin.total, ...sources.map((source) => bin.counts[source])];
					return element('tr', null, rowHead(binLabel(bin)), ...counts.map((n) => element('td', null, n)));
				}),
			}),
		);
		this.mark();
		this.#focus.settle();
	}

	/** Highlights the bin whose rows are shown. */
	mark(): void {
		const { range } = this.#model.filters;
		for (const [i, node] of [...this.#columns.children].entries()) {
			const bin = this.#made.bins[i];
			node.setAttribute('aria-pressed', String(bin !== undefined && range !== null && isRangeOf(range, bin)));
		}
	}

	#column(bin: Bin): HTMLElement {
		const { sources, highest } = this.#made;
		const words = `${binLabel(bin)}: ${binWords(bin, sources)}`;
		const bar = element('span', { class: 'bar-stack' });
		bar.style.height = `${highest === 0 ? 0 : (100 * bin.total) / highest}%`;
		for (const source of sources) {
			if (bin.counts[source] === 0) continue;
			const piece = element('span', { class: `from-${source}` });
			piece.style.flexGrow = String(bin.counts[source]);
			bar.append(piece);
		}
		const column = element(
			'button',
			{ class: 'column', title: words, tabIndex: -1, aria: { label: words }, attributes: { type: 'button' } },
			element('span', { class: 'bar-count', aria: { hidden: true } }, bin.total === 0 ? '' : bin.total),
			bar,
		);
		column.addEventListener('click', () => {
			const { range } = this.#model.filters;
			const { low, high, open } = bin;
			this.#model.setFilters({ range: range !== null && isRangeOf(range, bin) ? null : { low, high, open } });
		});
		return column;
	}
}

function isRangeOf(range: { readonly low: number; readonly high: number }, bin: Bin): boolean {
	return range.low === bin.low && range.high === bin.high;
}

/** Labels each column if there are few. Otherwise, labels the two ends and the middle. */
export function axisLabels(bins: readonly Bin[]): string[] {
	const [first] = bins;
	const last = bins.at(-1);
	if (first === undefined || last === undefined) return [];
	if (bins.length <= named) return bins.map(binLabel);
	const middle = bins[Math.floor(bins.length / 2)] as Bin;
	return [first.low, middle.low, last.high].map((value) => formatNumber(value, 3));
}
