import type { IDisposable } from '../../src/base/disposable.ts';
import { element, setAria } from './dom.ts';

/** Row heights in CSS pixels, with lookup by index and by offset. Pure. */
export interface RowHeights {
	readonly count: number;
	/** Total height of all rows. */
	readonly total: number;
	/** Returns the top of row `index`; `offset(count)` is the total. */
	offset(index: number): number;
	/** Returns the row at `y`, clamped to the existing rows; -1 if there are none. */
	rowAt(y: number): number;
}

export class FixedHeights implements RowHeights {
	readonly count: number;
	readonly #height: number;

	constructor(count: number, height: number) {
		this.count = count;
		this.#height = height;
	}

	get total(): number {
		return this.count * this.#height;
	}

	offset(index: number): number {
		return Math.max(0, Math.min(this.count, index)) * this.#height;
	}

	rowAt(y: number): number {
		return this.count === 0 ? -1 : Math.max(0, Math.min(this.count - 1, Math.floor(y / this.#height)));
	}
}

/** Row heights, first estimated and later measured, in a Fenwick tree so that each update costs O(log n). */
export class VariableHeights implements RowHeights {
	readonly count: number;
	readonly #heights: Float64Array;
	readonly #tree: Float64Array;

	constructor(count: number, estimate: (index: number) => number) {
		this.count = count;
		this.#heights = Float64Array.from({ length: count }, (_, i) => estimate(i));
		this.#tree = new Float64Array(count + 1);
		for (let i = 1; i <= count; i++) {
			this.#tree[i] = (this.#tree[i] as number) + (this.#heights[i - 1] as number);
			const parent = i + (i & -i);
			if (parent <= count) this.#tree[parent] = (this.#tree[parent] as number) + (this.#tree[i] as number);
		}
	}

	get total(): number {
		return this.offset(this.count);
	}

	height(index: number): number {
		return this.#heights[index] ?? 0;
	}

	/** Sets the height of a row; returns the change. */
	set(index: number, height: number): number {
		const change = height - this.height(index);
		if (change === 0 || index < 0 || index >= this.count) return 0;
		this.#heights[index] = height;
		for (let i = index + 1; i <= this.count; i += i & -i) this.#tree[i] = (this.#tree[i] as number) + change;
		return change;
	}

	offset(index: number): number {
		let sum = 0;
		for (let i = Math.max(0, Math.min(this.count, index)); i > 0; i -= i & -i) sum += this.#tree[i] as number;
		return sum;
	}

	rowAt(y: number): number {
		if (this.count === 0) return -1;
		let position = 0;
		let rest = y;
		for (let step = 2 ** Math.floor(Math.log2(this.count)); step >= 1; step /= 2) {
			const next = position + step;
			if (next <= this.count && (this.#tree[next] as number) <= rest) {
				position = next;
				rest -= this.#tree[next] as number;
			}
		}
		return Math.min(position, this.count - 1);
	}
}

export interface RowRange {
	/** First row to render. */
	readonly first: number;
	/** Last row to render, exclusive. */
	readonly end: number;
	/** Position of the first row. */
	readonly top: number;
}

/** Returns the visible rows, plus `overscan` rows on either side. Pure. */
export function visibleRows(heights: RowHeights, scrollTop: number, viewHeight: number, overscan = 4): RowRange {
	if (heights.count === 0) return { first: 0, end: 0, top: 0 };
	const first = Math.max(0, heights.rowAt(Math.max(0, scrollTop)) - overscan);
	const last = heights.rowAt(Math.max(0, scrollTop + Math.max(0, viewHeight - 1)));
	return { first, end: Math.min(heights.count, last + 1 + overscan), top: heights.offset(first) };
}

/** Returns the scroll position that makes a row visible; the current one if it already is. Pure. */
export function scrollToRow(heights: RowHeights, index: number, scrollTop: number, viewHeight: number): number {
	const top = heights.offset(index);
	const bottom = heights.offset(index + 1);
	if (top < scrollTop || bottom - top > viewHeight) return top;
	if (bottom > scrollTop + viewHeight) return bottom - viewHeight;
	return scrollTop;
}

/** Maximum element height. Browsers limit it (Chromium to 2^25 px), so longer lists are scrolled proportionally. */
const tallest = 15_000_000;

export interface VirtualListOptions {
	readonly label: string;
	/** ARIA roles of the list and its rows. Default: `list` and `listitem`. */
	readonly role?: string;
	readonly rowRole?: string;
	readonly class?: string;
	/** Creates the element for a row. Called each time the row becomes visible. */
	readonly render: (index: number) => HTMLElement;
	/** Fixed row height in CSS pixels; if omitted, rows are measured. */
	readonly rowHeight?: number;
	/** Returns the estimated height of a row before it is measured. */
	readonly estimate?: (index: number) => number;
	/**
	 * Attribute that gives assistive technology the position of a row: `aria-rowindex` for tables, `aria-posinset` for
	 * lists.
	 */
	readonly position?: 'rowindex' | 'posinset' | 'none';
	/** Number of header rows included in `aria-rowindex` before the first row. */
	readonly positionOffset?: number;
	/** Called after the visible rows have been drawn, for example after scrolling or resizing. */
	readonly onDrawn?: () => void;
}

/** List that renders only the visible rows. Rows keep their elements while they are visible. */
export class VirtualList implements IDisposable {
	readonly element: HTMLElement;
	readonly #space = element('div', { class: 'virtual-space', role: 'presentation' });
	readonly #options: VirtualListOptions;
	readonly #rows = new Map<number, HTMLElement>();
	readonly #resize: ResizeObserver;
	readonly #measure: ResizeObserver;
	#heights: RowHeights = new FixedHeights(0, 1);
	#frame = 0;
	#spaceHeight = -1;

	constructor(options: VirtualListOptions) {
		this.#options = options;
		this.element = element(
			'div',
			{
				class: `virtual-list ${options.class ?? ''}`,
				role: options.role ?? 'list',
				tabIndex: 0,
				aria: { label: options.label },
			},
			this.#space,
		);
		this.element.addEventListener('scroll', () => this.#schedule(), { passive: true });
		this.#resize = new ResizeObserver(() => this.#schedule());
		this.#resize.observe(this.element);
		this.#measure = new ResizeObserver((entries) => this.#measured(entries));
	}

	/** Sets the number of rows and redraws. */
	setCount(count: number): void {
		const { rowHeight, estimate } = this.#options;
		this.#heights =
			rowHeight === undefined ? new VariableHeights(count, estimate ?? (() => 24)) : new FixedHeights(count, rowHeight);
		this.refresh();
	}

	/** Redraws the visible rows after their content has changed. */
	refresh(): void {
		for (const row of this.#rows.values()) this.#drop(row);
		this.#rows.clear();
		this.#draw();
	}

	/** Redraws rows whose content has changed, if they are visible. */
	redraw(indexes: readonly number[]): void {
		for (const index of indexes) {
			const row = this.#rows.get(index);
			if (row === undefined) continue;
			this.#drop(row);
			this.#rows.delete(index);
		}
		this.#draw();
	}

	/** Scrolls a row into view and returns its element. */
	reveal(index: number): HTMLElement | undefined {
		const to = scrollToRow(this.#heights, index, this.#scrollTop, this.element.clientHeight);
		this.element.scrollTop = to * this.#ratio;
		this.#draw();
		return this.#rows.get(index);
	}

	get atEnd(): boolean {
		return this.element.scrollTop + this.element.clientHeight >= this.element.scrollHeight - 4;
	}

	dispose(): void {
		cancelAnimationFrame(this.#frame);
		this.#resize.disconnect();
		this.#measure.disconnect();
		this.element.remove();
	}

	/** Ratio of element height to layout height. */
	get #ratio(): number {
		return this.#heights.total > tallest ? tallest / this.#heights.total : 1;
	}

	get #scrollTop(): number {
		return this.element.scrollTop / this.#ratio;
	}

	#schedule(): void {
		if (this.#frame !== 0) return;
		this.#frame = requestAnimationFrame(() => {
			this.#frame = 0;
			this.#draw();
		});
	}

	#draw(): void {
		const heights = this.#heights;
		const height = Math.min(heights.total, tallest);
		// Read everything before the first change, because reading after it would force another layout.
		const { clientHeight, scrollTop: top } = this.element;
		// A list that shrinks can end above its scroll position.
		const position = height < this.#spaceHeight ? Math.min(top, Math.max(0, height - clientHeight)) : top;
		const scrollTop = position / this.#ratio;
		if (height !== this.#spaceHeight) this.#space.style.height = `${height}px`;
		this.#spaceHeight = height;
		const range = visibleRows(heights, scrollTop, clientHeight);
		for (const [index, row] of this.#rows) {
			if (index >= range.first && index < range.end) continue;
			this.#drop(row);
			this.#rows.delete(index);
		}
		// If the list exceeds the maximum element height, position rows relative to the visible part.
		const shift = position - scrollTop;
		for (let index = range.first; index < range.end; index++) {
			let row = this.#rows.get(index);
			if (!row) {
				row = this.#make(index);
				this.#rows.set(index, row);
			}
			row.style.transform = `translateY(${heights.offset(index) + shift}px)`;
		}
		this.#options.onDrawn?.();
	}

	#make(index: number): HTMLElement {
		const { render, rowRole, rowHeight, position = 'posinset', positionOffset = 0 } = this.#options;
		const row = render(index);
		row.classList.add('virtual-row');
		row.dataset.index = String(index);
		row.setAttribute('role', rowRole ?? 'listitem');
		if (position === 'rowindex') setAria(row, 'rowindex', index + 1 + positionOffset);
		if (position === 'posinset') {
			setAria(row, 'posinset', index + 1);
			setAria(row, 'setsize', this.#heights.count);
		}
		if (rowHeight !== undefined) row.style.height = `${rowHeight}px`;
		// Keep rows in document order, for reading and keyboard navigation.
		const after = [...this.#rows.entries()].filter(([i]) => i > index).sort(([a], [b]) => a - b)[0]?.[1];
		this.#space.insertBefore(row, after ?? null);
		if (rowHeight === undefined) this.#measure.observe(row);
		return row;
	}

	#drop(row: HTMLElement): void {
		this.#measure.unobserve(row);
		row.remove();
	}

	#measured(entries: readonly ResizeObserverEntry[]): void {
		const heights = this.#heights;
		if (!(heights instanceof VariableHeights)) return;
		const first = heights.rowAt(this.#scrollTop);
		let above = 0;
		let changed = false;
		for (const entry of entries) {
			const index = Number((entry.target as HTMLElement).dataset.index);
			const height = entry.borderBoxSize[0]?.blockSize ?? 0;
			if (!this.#rows.has(index) || height === 0) continue;
			const change = heights.set(index, height);
			changed ||= change !== 0;
			if (index < first) above += change;
		}
		if (!changed) return;
		// Keep the visible rows in place if the measured heights above them differ from the estimates.
		if (above !== 0) this.element.scrollTop += above;
		this.#draw();
	}
}
