import type { IDisposable } from '../../src/base/disposable.ts';
import { element, setAria } from './dom.ts';

/** Heights of rows, in CSS pixels: where each row begins and which row lies at an offset. Pure. */
export interface RowHeights {
	readonly count: number;
	/** Height of all rows. */
	readonly total: number;
	/** Where row `index` begins; `offset(count)` is the total. */
	offset(index: number): number;
	/** The row that covers `y`, clamped to the rows there are; -1 when there are none. */
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

/** Heights that are estimated at first and measured later: a Fenwick tree, so that one change costs O(log n). */
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

	/** Returns by how much the row grew. */
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
	/** First row to draw. */
	readonly first: number;
	/** One past the last row to draw. */
	readonly end: number;
	/** Where the first row is drawn. */
	readonly top: number;
}

/** Rows that are in view, and `overscan` rows more on either side. Pure. */
export function visibleRows(heights: RowHeights, scrollTop: number, viewHeight: number, overscan = 4): RowRange {
	if (heights.count === 0) return { first: 0, end: 0, top: 0 };
	const first = Math.max(0, heights.rowAt(Math.max(0, scrollTop)) - overscan);
	const last = heights.rowAt(Math.max(0, scrollTop + Math.max(0, viewHeight - 1)));
	return { first, end: Math.min(heights.count, last + 1 + overscan), top: heights.offset(first) };
}

/** The scroll position that brings a row into view; the present one when it is in view already. Pure. */
export function scrollToRow(heights: RowHeights, index: number, scrollTop: number, viewHeight: number): number {
	const top = heights.offset(index);
	const bottom = heights.offset(index + 1);
	if (top < scrollTop || bottom - top > viewHeight) return top;
	if (bottom > scrollTop + viewHeight) return bottom - viewHeight;
	return scrollTop;
}

/** Browsers cap the height of an element (Chromium at 2^25 px); longer lists are scrolled in proportion. */
const tallest = 15_000_000;

export interface VirtualListOptions {
	readonly label: string;
	/** Roles of the list and its rows; `list` and `listitem` by default. */
	readonly role?: string;
	readonly rowRole?: string;
	readonly class?: string;
	/** Makes the element of a row. It is called again whenever the row comes into view. */
	readonly render: (index: number) => HTMLElement;
	/** Rows of fixed height in CSS pixels; without it they are measured. */
	readonly rowHeight?: number;
	/** For measured rows: the guess before it is measured. */
	readonly estimate?: (index: number) => number;
	/** Which row each index is, for assistive technology; `aria-rowindex` for tables, `aria-posinset` for lists. */
	readonly position?: 'rowindex' | 'posinset' | 'none';
	/** Header rows that precede the first row in `aria-rowindex`. */
	readonly positionOffset?: number;
	/** The rows in view were drawn, as after a scroll or where the list has another height. */
	readonly onDrawn?: () => void;
}

/** Draws only the rows in view. Rows keep their elements while they stay in view. */
export class VirtualList implements IDisposable {
	readonly element: HTMLElement;
	readonly #space = element('div', { class: 'virtual-space', role: 'presentation' });
	readonly #options: VirtualListOptions;
	readonly #rows = new Map<number, HTMLElement>();
	readonly #resize: ResizeObserver;
	readonly #measure: ResizeObserver;
	#heights: RowHeights = new FixedHeights(0, 1);
	#frame = 0;

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

	/** Redraws the rows in view after their content changed. */
	refresh(): void {
		for (const row of this.#rows.values()) this.#drop(row);
		this.#rows.clear();
		this.#draw();
	}

	/** Brings a row into view and returns its element. */
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

	/** Element pixels per layout pixel. */
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
		this.#space.style.height = `${Math.min(heights.total, tallest)}px`;
		const scrollTop = this.#scrollTop;
		const range = visibleRows(heights, scrollTop, this.element.clientHeight);
		for (const [index, row] of this.#rows) {
			if (index >= range.first && index < range.end) continue;
			this.#drop(row);
			this.#rows.delete(index);
		}
		// In a list that is taller than an element can be, rows are placed around the visible part.
		const shift = this.element.scrollTop - scrollTop;
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
		// Rows stand in the document in their order, for reading and for tabbing.
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
		// What is in view stays where it is when rows above it turn out higher or lower than guessed.
		if (above !== 0) this.element.scrollTop += above;
		this.#draw();
	}
}
