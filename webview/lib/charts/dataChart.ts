import { Disposable, toDisposable } from '../../../src/base/disposable.ts';
import { formatCounted, formatNumber } from '../../../src/base/format.ts';
import { chartScale } from '../../../src/core/report/chartScale.ts';
import { element, fill, setAria, setText } from '../dom.ts';
import type { Theme } from '../theme.ts';
import { plainLabel } from '../trace/hiddenCharacters.ts';

export const dataChartKinds = ['line', 'bar', 'scatter'] as const;
export type DataChartKind = (typeof dataChartKinds)[number];

export interface DataSeries {
	readonly label: string;
	/** Index into the theme's series colors and dash patterns. */
	readonly color: number;
	/** Parallel arrays; null is an unknown value. If `categories` are given, x is an index into them. */
	readonly x: readonly (number | null)[];
	readonly y: readonly (number | null)[];
	/** Description of each point, for its tooltip. */
	readonly names?: readonly string[];
}

/** Chart of number pairs. A point without x or y is not drawn and leaves a gap in its line. */
export interface DataChart {
	readonly kind: DataChartKind;
	readonly xLabel: string;
	readonly yLabel: string;
	readonly categories: readonly string[] | null;
	readonly series: readonly DataSeries[];
}

const height = 260;
const room = { left: 62, right: 14, top: 10, bottom: 40 };
/** Maximum number of points that have their own tooltip. */
const maxTooltips = 1000;
const namespace = 'http://www.w3.org/2000/svg';

/** Draws a {@link DataChart} as wide as its container. */
export class DataChartView extends Disposable {
	readonly element = element('div', { class: 'data-chart' });
	readonly #theme: () => Theme;
	#chart: DataChart | null = null;
	#width = 0;

	constructor(theme: () => Theme) {
		super();
		this.#theme = theme;
		const resize = new ResizeObserver(([entry]) => {
			const width = Math.floor(entry?.contentRect.width ?? 0);
			if (width === this.#width) return;
			this.#width = width;
			this.draw();
		});
		resize.observe(this.element);
		this.register(toDisposable(() => resize.disconnect()));
	}

	set(chart: DataChart | null): void {
		this.#chart = chart;
		this.draw();
	}

	draw(): void {
		const chart = this.#chart;
		if (chart === null || this.#width === 0) fill(this.element);
		else {
			const label = element('span', { class: 'quiet' }, plainLabel(chart.yLabel, 80));
			fill(this.element, label, drawing(chart, this.#theme(), this.#width), legendOf(chart, this.#theme()));
		}
	}
}

/** Describes a chart in one sentence, for assistive technology. */
export function describeDataChart({ kind, xLabel, yLabel, series }: DataChart): string {
	const points = series.reduce((sum, one) => sum + one.x.filter((_, i) => isKnown(one, i)).length, 0);
	const missing = series.reduce((sum, one) => sum + one.x.length, 0) - points;
	const name = { line: 'Line chart', bar: 'Bar chart', scatter: 'Scatter plot' }[kind];
	const rest = missing === 0 ? '' : `, ${formatCounted(missing, 'row')} without a value`;
	return `${name} of ${yLabel} by ${xLabel}: ${formatCounted(points, 'point')} in ${formatCounted(series.length, 'series', 'series')}${rest}`;
}

const isKnown = ({ x, y }: DataSeries, i: number): boolean =>
	typeof x[i] === 'number' && typeof y[i] === 'number' && Number.isFinite(x[i]) && Number.isFinite(y[i]);

function legendOf({ series }: DataChart, theme: Theme): HTMLElement | null {
	if (series.length < 2) return null;
	return element(
		'ul',
		{ class: 'data-legend', aria: { label: 'Series' } },
		...series.map(({ label, color }) => {
			const sample = element('span', { class: 'data-sample', aria: { hidden: true } });
			sample.style.background = colorOf(theme, color);
			return element('li', null, sample, plainLabel(label, 80));
		}),
	);
}

const colorOf = (theme: Theme, color: number) => theme.series[color % theme.series.length] ?? theme.foreground;

function node(name: string, attributes: Readonly<Record<string, string | number>>, text?: string): SVGElement {
	const made = document.createElementNS(namespace, name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
	if (text !== undefined) setText(made, text);
	return made;
}

interface Places {
	readonly px: (x: number) => number;
	readonly py: (y: number) => number;
	/** Width of a category, or the smallest distance between bars. */
	readonly slot: number;
}

function drawing(chart: DataChart, theme: Theme, width: number): SVGElement {
	const { kind, xLabel, categories, series } = chart;
	const svg = node('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
	setAria(svg, 'label', describeDataChart(chart));
	const xs = series.flatMap((one) => one.x.filter((_, i) => isKnown(one, i)) as number[]);
	const ys = series.flatMap((one) => one.y.filter((_, i) => isKnown(one, i)) as number[]);
	const right = Math.max(room.left + 40, width - room.right);
	const bottom = height - room.bottom;
	const [yMin, yMax] = extent(kind === 'bar' ? [...ys, 0] : ys);
	const y = chartScale(yMin, yMax);
	const distinct = [...new Set(xs)].sort((a, b) => a - b);
	const step = distinct
		.slice(1)
		.reduce((min, at, i) => Math.min(min, at - (distinct[i] as number)), Number.POSITIVE_INFINITY);
	const margin = categories !== null ? 0.5 : kind === 'bar' ? (Number.isFinite(step) ? step / 2 : 0.5) : 0;
	const [xMin, xMax] = categories === null ? extent(xs) : [0, Math.max(0, categories.length - 1)];
	const scale = chartScale(xMin, xMax, Math.max(2, Math.floor((right - room.left) / 110)));
	// Bars and categories need room at both ends; other axes end at round numbers.
	const [low, high] = margin > 0 ? [xMin - margin, xMax + margin] : [scale.low, scale.high];
	const px = (at: number) => round(room.left + ((at - low) / (high - low)) * (right - room.left));
	const py = (at: number) => round(bottom - ((at - y.low) / (y.high - y.low)) * (bottom - room.top));
	const text = { fill: theme.secondary, 'font-size': Math.max(10, theme.fontSize - 2) };
	for (const tick of y.ticks) {
		svg.append(node('line', { x1: room.left, x2: right, y1: py(tick), y2: py(tick), stroke: theme.grid }));
		svg.append(
			node('text', { ...text, x: room.left - 6, y: py(tick) + 4, 'text-anchor': 'end' }, formatNumber(tick, 4)),
		);
	}
	const ticks =
		categories === null ? scale.ticks.filter((tick) => tick >= low && tick <= high) : sparse(categories, right);
	for (const tick of ticks) {
		const label = categories === null ? formatNumber(tick, 6) : plainLabel(categories[tick] ?? '', 16);
		svg.append(node('text', { ...text, x: px(tick), y: bottom + 16, 'text-anchor': 'middle' }, label));
	}
	svg.append(
		node(
			'text',
			{ ...text, x: (room.left + right) / 2, y: height - 6, 'text-anchor': 'middle' },
			plainLabel(xLabel, 80),
		),
	);
	const slot = ((right - room.left) / (high - low)) * (Number.isFinite(step) ? step : 1);
	for (const [i, one] of series.entries()) {
		svg.append(...marksOf(chart, one, i, theme, { px, py, slot }));
	}
	return svg;
}

/** Returns evenly spaced category indices, about as many as fit side by side. */
function sparse(categories: readonly string[], right: number): number[] {
	const every = Math.max(1, Math.ceil(categories.length / Math.max(1, Math.floor((right - room.left) / 90))));
	return categories.flatMap((_, i) => (i % every === 0 ? [i] : []));
}

function marksOf(chart: DataChart, one: DataSeries, at: number, theme: Theme, places: Places): SVGElement[] {
	const { kind, series } = chart;
	const { px, py, slot } = places;
	const color = colorOf(theme, one.color);
	const points = one.x.flatMap((_, i) => (isKnown(one, i) ? [i] : []));
	const named = series.reduce((sum, { x }) => sum + x.length, 0) <= maxTooltips;
	const title = (mark: SVGElement, i: number): SVGElement => {
		if (named) mark.append(node('title', {}, wordsOf(chart, one, i)));
		return mark;
	};
	if (kind === 'bar') {
		const wide = Math.max(1, (0.8 * slot) / series.length);
		return points.map((i) => {
			const [x, y, zero] = [px(one.x[i] as number), py(one.y[i] as number), py(0)];
			const left = round(x - (wide * series.length) / 2 + at * wide);
			const box = { x: left, y: Math.min(y, zero), width: round(wide), height: Math.max(1, Math.abs(zero - y)) };
			return title(
				node('rect', { ...box, fill: color, ...(theme.highContrast ? { stroke: theme.foreground } : {}) }),
				i,
			);
		});
	}
	const marks: SVGElement[] = [];
	if (kind === 'line') {
		const dash = theme.dash(at).join(' ');
		const path = pathOf(one, px, py);
		marks.push(
			node('path', {
				d: path,
				fill: 'none',
				stroke: color,
				'stroke-width': 1.5,
				...(dash === '' ? {} : { 'stroke-dasharray': dash }),
			}),
		);
	}
	// Single points between gaps would be invisible without a dot.
	const dots =
		kind === 'scatter' || points.length <= 60
			? points
			: points.filter((i) => !isKnown(one, i - 1) && !isKnown(one, i + 1));
	if (!named && dots.length > maxTooltips) {
		const d = dots.map((i) => `M${px(one.x[i] as number)},${py(one.y[i] as number)}h0`).join('');
		return [
			...marks,
			node('path', { d, stroke: color, 'stroke-width': 4, 'stroke-linecap': 'round', 'stroke-opacity': 0.6 }),
		];
	}
	for (const i of dots) {
		const circle = node('circle', { cx: px(one.x[i] as number), cy: py(one.y[i] as number), r: 3, fill: color });
		marks.push(title(circle, i));
	}
	return marks;
}

/** Returns a path with a gap wherever a value is unknown. */
export function pathOf(one: DataSeries, px: (x: number) => number, py: (y: number) => number): string {
	let path = '';
	for (let i = 0, open = false; i < one.x.length; i++) {
		const known = isKnown(one, i);
		if (known) path += `${open ? 'L' : 'M'}${px(one.x[i] as number)},${py(one.y[i] as number)}`;
		open = known;
	}
	return path;
}

function wordsOf({ xLabel, yLabel, categories, series }: DataChart, one: DataSeries, i: number): string {
	const x = categories === null ? formatNumber(one.x[i] as number, 6) : (categories[one.x[i] as number] ?? '');
	const lead = series.length > 1 ? `${plainLabel(one.label, 80)}: ` : '';
	const name = one.names?.[i];
	const end = name === undefined ? '' : `, ${plainLabel(name, 80)}`;
	return `${lead}${plainLabel(yLabel, 80)} ${formatNumber(one.y[i] as number, 6)}, ${plainLabel(xLabel, 80)} ${plainLabel(x, 80)}${end}`;
}

const round = (value: number) => Number(value.toFixed(1));

function extent(values: readonly number[]): [min: number, max: number] {
	let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
	for (const value of values) {
		min = Math.min(min, value);
		max = Math.max(max, value);
	}
	return min > max ? [0, 1] : [min, max];
}
