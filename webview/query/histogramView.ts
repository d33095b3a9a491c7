import { formatCount, formatCounted, formatNumber } from '../../src/base/format.ts';
import { element, fill } from '../lib/dom.ts';
import { rowHead, staticTable } from '../lib/staticTable.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { HistogramState } from './queryState.ts';
import type { Histogram, HistogramBin } from './statements.ts';

/** Histogram of a result column, shown as bars and as a table. */
export class HistogramView {
	readonly element = element('div', { class: 'histogram' });

	update(state: HistogramState | null): void {
		if (state === null) {
			fill(this.element);
			return;
		}
		const { column, made, failure } = state;
		const name = plainLabel(column, 80);
		if (failure !== null) {
			fill(
				this.element,
				element('p', { class: 'quiet' }, `Cannot compute the histogram of ${name}: ${failure.message}`),
			);
		} else if (made === null)
			fill(this.element, element('p', { class: 'quiet', role: 'status' }, `Computing histogram of ${name}\u2026`));
		else if (made.bins.length === 0)
			fill(this.element, element('p', { class: 'quiet' }, `No row has a value for ${name}.`));
		else fill(this.element, ...drawing(name, made));
	}
}

function drawing(name: string, { bins, without, whole }: Histogram): HTMLElement[] {
	const highest = Math.max(...bins.map(({ rows }) => rows));
	const all = bins.reduce((sum, { rows }) => sum + rows, 0);
	const label = (bin: HistogramBin): string => {
		if (whole) return formatNumber(bin.low + 0.5, 6);
		return bin.low === bin.high
			? formatNumber(bin.low, 6)
			: `${formatNumber(bin.low, 4)} to ${formatNumber(bin.high, 4)}`;
	};
	const count = (rows: number): string => formatCounted(rows, 'row');
	const [first, last] = [bins[0] as HistogramBin, bins.at(-1) as HistogramBin];
	const middle = (first.low + last.high) / 2;
	const ends = whole ? [first.low + 0.5, middle, last.high - 0.5] : [first.low, middle, last.high];
	const span =
		bins.length === 1 ? `all ${label(first)}` : `from ${formatNumber(ends[0], 4)} to ${formatNumber(ends[2], 4)}`;
	const summary = `${name}: ${count(all)}, ${span}`;
	const bars = element(
		'div',
		{ class: 'bars', role: 'img', aria: { label: `Histogram of ${summary}` } },
		...bins.map((bin) => {
			const bar = element('span', { class: 'bar' });
			bar.style.height = `${(100 * bin.rows) / highest}%`;
			// Ensure that nonempty bins are visible.
			if (bin.rows > 0) bar.classList.add('some');
			return element('span', { class: 'bar-room', title: `${label(bin)}: ${count(bin.rows)}` }, bar);
		}),
	);
	const ticks = bins.length === 1 ? [label(first)] : ends.map((value) => formatNumber(value, 4));
	return [
		element(
			'p',
			{ class: 'quiet' },
			bins.length === 1 ? summary : `${summary}; the largest bin has ${count(highest)}`,
			without > 0 ? `; ${count(without)} without a value` : '',
		),
		bars,
		element('div', { class: 'bar-axis', aria: { hidden: true } }, ...ticks.map((tick) => element('span', null, tick))),
		element(
			'details',
			null,
			element('summary', null, 'Show as table'),
			staticTable('plain-table', {
				caption: `Histogram of ${name}`,
				head: [name, 'Rows'],
				rows: bins.map((bin) => element('tr', null, rowHead(label(bin)), element('td', null, formatCount(bin.rows)))),
			}),
		),
	];
}
