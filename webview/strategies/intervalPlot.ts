import type { Interval } from '../../src/protocol/strategyComparison.ts';
import { nextFocus } from '../lib/a11y.ts';
import { element, fill, setText } from '../lib/dom.ts';
import type { Theme } from '../lib/theme.ts';
import { colorOf, mark, svg } from './marks.ts';
import { logScale, type Scale, shareScale } from './plotScale.ts';

export interface PlotPoint {
	readonly id: string;
	readonly x: number;
	readonly y: Interval;
	/** Full description of the point. */
	readonly words: string;
}

export interface PlotLine {
	readonly name: string;
	/** Color and shape index. */
	readonly style: number;
	/** Whether the line is an upper bound, drawn dashed with hollow marks. */
	readonly bound: boolean;
	readonly points: readonly PlotPoint[];
}

export interface PlotContent {
	readonly title: string;
	readonly xLabel: string;
	readonly lines: readonly PlotLine[];
	readonly selected: string | null;
}

const margin = { left: 48, right: 16, top: 12, bottom: 38 } as const;
const height = 320;

/**
 * Plots means with confidence intervals on a logarithmic axis, one line per strategy. Left and Right arrow keys move
 * along a line; Up and Down move between lines.
 */
export class IntervalPlot {
	readonly element = element('div', { class: 'interval-plot' });
	readonly #onChoose: (id: string) => void;
	readonly #points = new Map<string, SVGGElement>();
	#content: PlotContent | null = null;
	#theme: Theme | null = null;
	#width = 0;
	#focused: string | null = null;

	constructor(onChoose: (id: string) => void) {
		this.#onChoose = onChoose;
		new ResizeObserver(([entry]) => {
			const width = Math.round(entry?.contentRect.width ?? 0);
			if (width === this.#width) return;
			this.#width = width;
			this.#draw();
		}).observe(this.element);
	}

	show(content: PlotContent, theme: Theme): void {
		this.#content = content;
		this.#theme = theme;
		this.#draw();
	}

	#draw(): void {
		const [content, theme, width] = [this.#content, this.#theme, this.#width];
		if (content === null || theme === null || width < 80) return;
		const refocus = this.element.contains(document.activeElement) ? this.#focused : null;
		const all = content.lines.flatMap(({ points }) => points);
		const inside = { from: margin.left, to: width - margin.right };
		const xs = all.map(({ x }) => x);
		const x = logScale(Math.min(...xs) / 1.15, Math.max(...xs) * 1.15, inside.from, inside.to);
		const y = shareScale(
			all.flatMap(({ y: { low, high } }) => [low, high]),
			height - margin.bottom,
			margin.top,
		);
		const places = apart(all, x);
		this.#points.clear();
		const drawing = svg(
			'svg',
			{ viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': content.title },
			...axes(x, y, width, theme, content.xLabel),
			...content.lines.map((line) => this.#line(line, places, y, theme, content.selected)),
		);
		fill(this.element, drawing);
		if (!all.some(({ id }) => id === this.#focused)) this.#focused = content.selected ?? all[0]?.id ?? null;
		for (const [id, node] of this.#points) node.setAttribute('tabindex', id === this.#focused ? '0' : '-1');
		if (refocus !== null) this.#points.get(refocus)?.focus();
	}

	#line(line: PlotLine, places: Places, y: Scale, theme: Theme, selected: string | null): SVGGElement {
		const { points, style, bound } = line;
		const sorted = points.toSorted((a, b) => a.x - b.x);
		const path = sorted
			.map((point, i) => `${i === 0 ? 'M' : 'L'}${places.get(point.id)} ${y.at(point.y.mean)}`)
			.join('');
		const stroke = { stroke: colorOf(theme, style), fill: 'none', 'stroke-width': 1.5 };
		const group = svg('g', {});
		if (sorted.length > 1) {
			group.append(svg('path', { ...stroke, d: path, opacity: 0.75, ...(bound ? { 'stroke-dasharray': '5 4' } : {}) }));
		}
		for (const point of sorted) group.append(this.#point(point, line, places, y, theme, selected));
		return group;
	}

	#point(
		point: PlotPoint,
		line: PlotLine,
		places: Places,
		y: Scale,
		theme: Theme,
		selected: string | null,
	): SVGGElement {
		const [px, py, low, high] = [places.get(point.id) ?? 0, y.at(point.y.mean), y.at(point.y.low), y.at(point.y.high)];
		const stroke = { stroke: colorOf(theme, line.style), 'stroke-width': 1.4 };
		const node = svg(
			'g',
			{
				class: point.id === selected ? 'point selected' : 'point',
				role: 'button',
				'aria-label': point.words,
				'aria-pressed': String(point.id === selected),
			},
			svg('path', { ...stroke, d: `M${px} ${low}V${high}M${px - 4} ${low}H${px + 4}M${px - 4} ${high}H${px + 4}` }),
			svg('circle', { class: 'halo', cx: px, cy: py, r: 10, fill: 'transparent', stroke: 'none' }),
		);
		const title = svg('title', {});
		setText(title, point.words);
		const shape = mark(theme, line.style, line.bound);
		shape.setAttribute('transform', `translate(${px} ${py})`);
		node.append(shape, title);
		node.addEventListener('click', () => this.#choose(point.id));
		node.addEventListener('focus', () => this.#moveTo(point.id, false));
		node.addEventListener('keydown', (event) => this.#onKey(event, point, line));
		this.#points.set(point.id, node);
		return node;
	}

	#onKey(event: KeyboardEvent, point: PlotPoint, line: PlotLine): void {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.key === 'Enter' || event.key === ' ') {
			event.preventDefault();
			this.#choose(point.id);
			return;
		}
		const lines = (this.#content?.lines ?? []).filter(({ points }) => points.length > 0);
		const sorted = line.points.toSorted((a, b) => a.x - b.x);
		const at = sorted.findIndex(({ id }) => id === point.id);
		let next: PlotPoint | undefined;
		if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
			const down = event.key === 'ArrowDown' ? 1 : -1;
			const other = lines[(lines.indexOf(line) + down + lines.length) % lines.length];
			next = other?.points.toSorted((a, b) => Math.abs(a.x - point.x) - Math.abs(b.x - point.x))[0];
		} else {
			const to = nextFocus(event.key, at, sorted.length);
			next = to === null ? undefined : sorted[to];
		}
		if (next === undefined) return;
		event.preventDefault();
		this.#moveTo(next.id, true);
	}

	#moveTo(id: string, focus: boolean): void {
		this.#focused = id;
		for (const [key, node] of this.#points) node.setAttribute('tabindex', key === id ? '0' : '-1');
		if (focus) this.#points.get(id)?.focus();
	}

	#choose(id: string): void {
		this.#focused = id;
		this.#onChoose(id);
	}
}

/** Point positions, in pixels. */
type Places = ReadonlyMap<string, number>;

/** Spreads out points with the same position on the axis, so that their intervals do not overlap. */
function apart(points: readonly PlotPoint[], x: Scale): Places {
	const columns = new Map<number, string[]>();
	for (const { id, x: value } of points) {
		const column = Math.round(x.at(value) / 6);
		columns.set(column, [...(columns.get(column) ?? []), id]);
	}
	const shift = new Map<string, number>();
	for (const ids of columns.values()) {
		for (const [i, id] of ids.entries()) shift.set(id, (i - (ids.length - 1) / 2) * 9);
	}
	return new Map(points.map(({ id, x: value }) => [id, x.at(value) + (shift.get(id) ?? 0)]));
}

function axes(x: Scale, y: Scale, width: number, theme: Theme, label: string): SVGElement[] {
	const bottom = height - margin.bottom;
	const words = (text: string, place: Readonly<Record<string, string | number>>) => {
		const node = svg('text', { fill: theme.secondary, 'font-size': theme.fontSize * 0.9, ...place });
		setText(node, text);
		return node;
	};
	const line = (d: string, color: string) => svg('path', { d, stroke: color, fill: 'none', 'stroke-width': 1 });
	return [
		...y.ticks.flatMap(({ value, label: text }) => [
			line(`M${margin.left} ${y.at(value)}H${width - margin.right}`, theme.grid),
			words(text, { x: margin.left - 8, y: y.at(value), 'text-anchor': 'end', 'dominant-baseline': 'middle' }),
		]),
		...x.ticks.flatMap(({ value, label: text }) => [
			line(`M${x.at(value)} ${bottom}v4`, theme.secondary),
			words(text, { x: x.at(value), y: bottom + 16, 'text-anchor': 'middle' }),
		]),
		line(`M${margin.left} ${bottom}H${width - margin.right}`, theme.secondary),
		words(label, { x: (margin.left + width - margin.right) / 2, y: height - 5, 'text-anchor': 'middle' }),
	];
}
