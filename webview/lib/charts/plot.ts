import uPlot from 'uplot';
import { Disposable, toDisposable } from '../../../src/base/disposable.ts';
import { pickRows } from '../../../src/core/metrics/pickRows.ts';
import { element, setAria } from '../dom.ts';
import type { Theme } from '../theme.ts';
import { type ChartSpec, type ColumnSource, columnsAt, type Layers, layersOf } from './chartSpec.ts';
import { drawQueue } from './drawQueue.ts';
import { actOnLink, plotActionOf } from './plotKeys.ts';
import type { PlotLink } from './plotLink.ts';
import { drawMarks, type PlotMark } from './plotMarks.ts';
import { binarySteps, formatTick, formatX, stepSteps, timeSteps, yRange } from './plotScales.ts';
import { seriesOf } from './plotSeries.ts';
import { wheelActionOf } from './plotWheel.ts';
import { nearestRow, rowsOfRange } from './rowRange.ts';

export interface PlotOptions {
	readonly link: PlotLink;
	readonly source: ColumnSource;
	readonly theme: () => Theme;
	/** Marks on the current axis, in ascending x order. */
	readonly marks: () => readonly PlotMark[];
	/** Called when Enter or the app's own key is pressed at a row. */
	readonly onOpen: (row: number) => void;
	/** Describes the values at an x position for assistive technology. */
	readonly describe: (row: number) => string;
	/** Called after rows `from` to `to` (exclusive) have been drawn. */
	readonly onDraw?: (from: number, to: number) => void;
}

/** Options used to build a plot. */
export interface PlotSettings {
	readonly hidden: ReadonlySet<string>;
	readonly smoothing: boolean;
	readonly log: boolean;
}

const heights = { small: 96, normal: 168 };

/** Chart on a canvas, drawn only while visible. The link controls its range and cursor. */
export class Plot extends Disposable {
	readonly element: HTMLElement;
	readonly #options: PlotOptions;
	#spec: ChartSpec;
	#settings: PlotSettings = { hidden: new Set(), smoothing: false, log: false };
	#plot: uPlot | null = null;
	#built = '';
	#layers: Layers = { layers: [], areas: [] };
	#visible = false;
	/** Whether data or settings have changed since the layers were created. */
	#layersStale = true;
	#stale = true;
	#width = 0;
	/** Last pointer position, and whether the pointer is moving. */
	#pointer = '';
	#pointing = false;

	constructor(spec: ChartSpec, options: PlotOptions) {
		super();
		this.#spec = spec;
		this.#options = options;
		this.element = element('div', {
			class: 'plot',
			role: 'slider',
			tabIndex: 0,
			aria: {
				label: `${spec.title}, cursor`,
				orientation: 'horizontal',
				roledescription: 'chart cursor',
				keyshortcuts: 'ArrowLeft ArrowRight Home End Plus Minus 0 Space Enter Escape',
			},
		});
		this.element.style.height = `${this.#height}px`;
		this.element.addEventListener('keydown', (event) => this.#onKey(event));
		this.element.addEventListener('wheel', (event) => this.#onWheel(event), { passive: false });
		this.element.addEventListener('focus', () => this.#announceCursor());
		const resize = new ResizeObserver(([entry]) => this.#resize(entry?.contentRect.width ?? 0));
		resize.observe(this.element);
		const intersection = new IntersectionObserver(([entry]) => this.#setVisible(entry?.isIntersecting ?? false), {
			rootMargin: '160px',
		});
		intersection.observe(this.element);
		this.register(toDisposable(() => resize.disconnect()));
		this.register(toDisposable(() => intersection.disconnect()));
		this.register(toDisposable(() => drawQueue.remove(this)));
		this.register(toDisposable(() => this.#destroy()));
		this.register(options.link.onViewChange(() => this.#redraw()));
		this.register(options.link.onCursorChange(() => this.#showCursor()));
		this.#announceCursor();
	}

	/** Canvas with axes and lines, for export; null before it is first drawn. */
	get canvas(): HTMLCanvasElement | null {
		return this.#plot?.ctx.canvas ?? null;
	}

	get spec(): ChartSpec {
		return this.#spec;
	}

	get #height(): number {
		return heights[this.#spec.size ?? 'normal'];
	}

	get settings(): PlotSettings {
		return this.#settings;
	}

	setSpec(spec: ChartSpec): void {
		this.#spec = spec;
		this.update();
	}

	setSettings(settings: PlotSettings): void {
		this.#settings = settings;
		this.update();
	}

	/** Rebuilds the plot after a theme change, because colors are fixed when it is built. */
	rebuild(): void {
		this.#built = '';
		this.update();
	}

	/** Schedules drawing after a data change, for the next frame in which the chart is visible. */
	update(): void {
		this.#layersStale = true;
		this.#redraw();
	}

	#redraw(): void {
		this.#stale = true;
		if (this.#visible) drawQueue.add(this);
	}

	/** Draws immediately if something has changed; used to export charts that are not visible. */
	draw(): void {
		if (!this.#stale || this.#width === 0 || this.disposed) return;
		this.#stale = false;
		const { link } = this.#options;
		if (this.#layersStale) this.#layers = layersOf(this.#spec, this.#options.source, this.#settings);
		this.#layersStale = false;
		const { x } = link;
		const { from, to } = rowsOfRange(x, link.range);
		const columns = this.#layers.layers.map((layer) => layer.values);
		// Use two columns per pixel, so that each pixel contains at least one complete column.
		const rows = pickRows(columns, from, to, 2 * Math.max(32, this.#width));
		const data = [
			Array.from(rows, (row) => x[row] as number),
			...columnsAt(this.#layers.layers, rows, this.#settings.log),
		] as uPlot.AlignedData;
		const shape = this.#shape();
		if (shape !== this.#built || !this.#plot) {
			this.#destroy();
			this.#plot = new uPlot(this.#configuration(), data, this.element);
			this.#pinByClick(this.#plot);
			this.#built = shape;
		} else {
			this.#plot.setData(data, false);
		}
		const plot = this.#plot;
		plot.batch(() => plot.setScale('x', link.shown));
		this.#showCursor();
		this.#options.onDraw?.(from, to);
	}

	#setVisible(visible: boolean): void {
		this.#visible = visible;
		if (visible && this.#stale) this.#redraw();
	}

	#resize(width: number): void {
		const rounded = Math.floor(width);
		if (rounded === 0 || rounded === this.#width) return;
		this.#width = rounded;
		this.#plot?.setSize({ width: rounded, height: this.#height });
		this.#redraw();
	}

	#destroy(): void {
		this.#plot?.destroy();
		this.#plot = null;
	}

	/** Returns a key for everything that a built plot depends on, except data and scales. */
	#shape(): string {
		const { layers, areas } = this.#layers;
		return JSON.stringify([
			layers.map(({ role, metric, color, gaps }) => [role, metric, color, gaps]),
			areas,
			this.#settings.log,
			this.#settings.smoothing,
			this.#options.link.axis,
			this.#spec.unit,
			this.#spec.span,
		]);
	}

	#configuration(): uPlot.Options {
		const theme = this.#options.theme();
		const { link } = this.#options;
		const font = `${Math.max(10, theme.fontSize - 2)}px ${theme.fontFamily}`;
		const { unit } = this.#spec;
		const axis: uPlot.Axis = {
			stroke: theme.secondary,
			font,
			grid: { stroke: theme.grid, width: 1 },
			ticks: { show: false },
			gap: 4,
		};
		return {
			width: this.#width,
			height: this.#height,
			padding: [6, 20, 0, 0],
			legend: { show: false },
			pxAlign: 1,
			scales: {
				x: { time: false, auto: false, range: (_u, min, max) => [min, max] },
				y: this.#settings.log
					? { distr: 3, log: 10, range: (_u, min, max) => uPlot.rangeLog(min, max, 10, false) }
					: { range: (_u, min, max) => yRange(min, max, unit, this.#spec.kind === 'stack', this.#spec.span) },
			},
			axes: [
				{
					...axis,
					size: 22,
					space: link.axis === 'step' ? 42 : 52,
					incrs: link.axis === 'step' ? stepSteps : timeSteps,
					values: (_u, splits) => splits.map((value) => formatX(value, link.axis)),
				},
				{
					...axis,
					space: this.#spec.size === 'small' ? 22 : 30,
					...(unit === 'bytes' ? { incrs: binarySteps } : {}),
					size: (u, values) => axisWidth(u, values, font),
					values: (_u, splits) => splits.map((value) => (value === null ? '' : formatTick(value, unit))),
				},
			],
			series: [{}, ...this.#layers.layers.map((layer) => seriesOf(layer, this.#spec, theme))],
			bands: this.#layers.areas.map(({ high, low, color }) => ({
				series: [high + 1, low + 1] as [number, number],
				fill: theme.fill(color, theme.highContrast ? 0.35 : 0.18),
			})),
			cursor: {
				y: false,
				move: (u, left, top) => [this.#snap(u, left), top],
				points: { size: (_u, i) => (this.#layers.layers[i - 1]?.role === 'line' ? 6 : 0) },
				// The cursor snaps to rows. Without this, uPlot would interpret the snapping as a drag and swallow the
				// click.
				drag: { x: true, y: false, setScale: false, dist: 4, click: () => undefined },
				focus: { prox: -1 },
				bind: {
					mousemove: (_u, _target, handler) => (event) => {
						this.#pointerMoved(event, () => handler(event));
						return null;
					},
					dblclick: () => () => {
						link.reset();
						return null;
					},
					mouseleave: (_u, _target, handler) => (event) => {
						handler(event);
						this.#pointer = '';
						link.leave();
						return null;
					},
				},
			},
			hooks: {
				setCursor: [(u) => this.#cursorMoved(u)],
				setSelect: [(u) => this.#selected(u)],
				draw: [(u) => drawMarks(u, this.#options.marks(), this.#options.theme(), this.#spec.size !== 'small')],
			},
		};
	}

	/** Pins the clicked step; with Ctrl or Cmd, opens its rollouts. Ignores the click at the end of a drag, and double-clicks, which zoom out. */
	#pinByClick({ over }: uPlot): void {
		const { link } = this.#options;
		let pressed = Number.NaN;
		let before: number | null = null;
		over.addEventListener('mousedown', ({ clientX }) => {
			pressed = clientX;
		});
		over.addEventListener('click', ({ button, detail, clientX, ctrlKey, metaKey }) => {
			if (button !== 0 || detail !== 1 || !(Math.abs(clientX - pressed) < 4)) return;
			if ((ctrlKey || metaKey) && link.cursor !== null) {
				this.#options.onOpen(link.cursor);
				return;
			}
			before = link.pinned;
			link.pin(link.cursor);
		});
		over.addEventListener('dblclick', () => link.pinStep(before));
	}

	/** Snaps the cursor to rows. */
	#snap(u: uPlot, left: number): number {
		if (left < 0) return left;
		const { x } = this.#options.link;
		const row = nearestRow(x, u.posToVal(left, 'x'));
		return row < 0 ? left : Math.max(0, Math.min(u.over.clientWidth, u.valToPos(x[row] as number, 'x')));
	}

	/**
	 * Handles pointer moves. uPlot reports its cursor position each time it draws, and browsers send pointer events when
	 * the content below a resting pointer is redrawn. Both are ignored, so that they do not move a cursor set by a key or
	 * another chart.
	 */
	#pointerMoved({ clientX, clientY }: MouseEvent, move: () => void): void {
		const at = `${clientX} ${clientY}`;
		if (at === this.#pointer) return;
		this.#pointer = at;
		this.#pointing = true;
		move();
		this.#pointing = false;
	}

	#cursorMoved(u: uPlot): void {
		const { left } = u.cursor;
		if (!this.#pointing || left === undefined || left < 0) return;
		this.#options.link.setCursor(nearestRow(this.#options.link.x, u.posToVal(left, 'x')));
	}

	#showCursor(): void {
		const { link } = this.#options;
		const row = link.cursor;
		const plot = this.#plot;
		if (plot && this.#visible) {
			const at = row === null ? undefined : link.x[row];
			const { min, max } = link.shown;
			const inside = at !== undefined && at >= min && at <= max;
			plot.setCursor({ left: inside ? plot.valToPos(at, 'x') : -10, top: inside ? 0 : -10 }, false);
		}
		if (document.activeElement === this.element) this.#announceCursor();
	}

	#announceCursor(): void {
		const { link, describe } = this.#options;
		const { x } = link;
		const last = Math.max(0, x.length - 1);
		const row = link.cursor ?? last;
		setAria(this.element, 'valuemin', 0);
		setAria(this.element, 'valuemax', last);
		setAria(this.element, 'valuenow', row);
		setAria(this.element, 'valuetext', x.length === 0 ? 'no data yet' : describe(row));
	}

	#selected(u: uPlot): void {
		const { left, width } = u.select;
		if (width < 4) return;
		this.#options.link.setRange({ min: u.posToVal(left, 'x'), max: u.posToVal(left + width, 'x') });
		u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
	}

	#onWheel(event: WheelEvent): void {
		const plot = this.#plot;
		const action = wheelActionOf({
			deltaX: event.deltaX,
			deltaY: event.deltaY,
			mode: event.deltaMode,
			shift: event.shiftKey,
			control: event.ctrlKey || event.metaKey,
		});
		if (!action || !plot || plot.over.clientWidth === 0) return;
		const { link } = this.#options;
		if (action.kind === 'zoom') {
			event.preventDefault();
			link.zoomAt(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, 'x'), action.factor);
		} else {
			const { min, max } = link.shown;
			// At either end, let the page scroll.
			if (link.pan((action.pixels / plot.over.clientWidth) * (max - min))) event.preventDefault();
		}
	}

	#onKey(event: KeyboardEvent): void {
		const action = plotActionOf({
			key: event.key,
			shift: event.shiftKey,
			control: event.ctrlKey || event.metaKey || event.altKey,
		});
		if (!action) return;
		event.preventDefault();
		const { link, onOpen } = this.#options;
		if (action.kind === 'open') onOpen(link.cursor ?? link.x.length - 1);
		else actOnLink(link, action);
		this.#announceCursor();
	}
}

/** Returns the width of the longest tick label, in CSS pixels. */
function axisWidth(u: uPlot, values: readonly string[] | null, font: string): number {
	if (!values || values.length === 0) return 36;
	u.ctx.save();
	u.ctx.font = font;
	const widest = values.reduce((width, value) => Math.max(width, u.ctx.measureText(value).width), 0);
	u.ctx.restore();
	return Math.max(32, Math.ceil(widest) + 12);
}
