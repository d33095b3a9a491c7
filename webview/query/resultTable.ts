import type { IDisposable } from '../../src/base/disposable.ts';
import { nextFocus } from '../lib/a11y.ts';
import { type Child, element, fill, setAria } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { VirtualList } from '../lib/virtualList.ts';

export interface TableColumn {
	readonly name: string;
	/** Shown on hover of the head. */
	readonly title: string;
	readonly numeric: boolean;
	/** CSS pixels at first. */
	readonly width: number;
	readonly cell: (row: number) => { readonly text: string; readonly title?: string; readonly parts?: readonly Child[] };
}

export interface TableShape {
	readonly label: string;
	readonly columns: readonly TableColumn[];
	readonly rows: number;
	/** Whether a row can be opened. */
	readonly canOpen: (row: number) => boolean;
	readonly onOpen: (row: number) => void;
	/** Absent: the order is what it is. */
	readonly sort?: {
		readonly column: string | null;
		readonly descending: boolean;
		readonly onSort: (column: string) => void;
	};
}

const rowHeight = 24;
/** Of the number of the row. */
const numberWidth = 64;
const narrowest = 48;
const widest = 1200;

/** A table of any number of rows: draws those in view. Arrows move between rows, Enter opens one; columns can be resized. */
export class ResultTable implements IDisposable {
	readonly element: HTMLElement;
	readonly #list: VirtualList;
	readonly #head = element('div', { class: 'result-row result-head', role: 'row', aria: { rowindex: 1 } });
	readonly #headBox = element('div', { class: 'result-head-box', role: 'rowgroup' }, this.#head);
	#shape: TableShape;
	#widths: number[];
	#active = 0;

	constructor(shape: TableShape) {
		this.#shape = shape;
		this.#widths = shape.columns.map(({ width }) => width);
		this.#list = new VirtualList({
			label: `${shape.label}, rows`,
			role: 'rowgroup',
			rowRole: 'row',
			rowHeight,
			position: 'rowindex',
			positionOffset: 1,
			class: 'result-rows',
			render: (index) => this.#row(index),
		});
		this.#list.element.addEventListener('scroll', () => {
			this.#headBox.scrollLeft = this.#list.element.scrollLeft;
		});
		this.#list.element.addEventListener('keydown', (event) => this.#onKey(event));
		this.element = element(
			'div',
			{ class: 'result-table', role: 'table', aria: { label: shape.label, colcount: shape.columns.length + 1 } },
			this.#headBox,
			this.#list.element,
		);
		this.update(shape);
	}

	/** More rows, or another order; the columns are the same. */
	update(shape: TableShape): void {
		this.#shape = shape;
		setAria(this.element, 'rowcount', shape.rows + 1);
		fill(
			this.#head,
			element('span', { class: 'row-number', role: 'columnheader' }, '#'),
			...shape.columns.map((column, i) => this.#headCell(column, i)),
		);
		this.#layout();
		this.#list.setCount(shape.rows);
	}

	dispose(): void {
		this.#list.dispose();
		this.element.remove();
	}

	#layout(): void {
		const { style } = this.element;
		style.setProperty('--columns', [numberWidth, ...this.#widths].map((width) => `${width}px`).join(' '));
		style.setProperty('--row-width', `${this.#widths.reduce((sum, width) => sum + width, numberWidth)}px`);
	}

	#headCell(column: TableColumn, index: number): HTMLElement {
		const { sort } = this.#shape;
		const sorted = sort?.column === column.name;
		const name = element('span', { class: 'head-name' }, column.name);
		const mark = sorted ? element('span', { aria: { hidden: true } }, sort.descending ? ' \u2193' : ' \u2191') : null;
		const hint = `${column.title}\nAlt+Left and Alt+Right resize the column.`;
		const label = sort
			? element(
					'button',
					{
						class: 'head-button',
						title: `${column.title}\nClick to sort; Alt+Left and Alt+Right resize.`,
						attributes: { type: 'button' },
						on: { click: () => sort.onSort(column.name) },
					},
					name,
					mark,
				)
			: element('span', { class: 'head-button', title: hint, tabIndex: 0 }, name);
		label.addEventListener('keydown', (event) => {
			if (!event.altKey || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
			event.preventDefault();
			this.#resize(index, (this.#widths[index] as number) + (event.key === 'ArrowLeft' ? -16 : 16));
		});
		return element(
			'span',
			{
				class: column.numeric ? 'head-cell numeric' : 'head-cell',
				role: 'columnheader',
				aria: { sort: sorted ? (sort.descending ? 'descending' : 'ascending') : null },
			},
			label,
			this.#grip(index),
		);
	}

	#grip(index: number): HTMLElement {
		const grip = element('span', { class: 'grip', aria: { hidden: true } });
		grip.addEventListener('pointerdown', (event) => {
			event.preventDefault();
			const start = event.clientX;
			const width = this.#widths[index] as number;
			const move = (moved: PointerEvent): void => this.#resize(index, width + moved.clientX - start);
			const end = (): void => {
				grip.removeEventListener('pointermove', move);
				grip.removeEventListener('pointerup', end);
				grip.removeEventListener('pointercancel', end);
			};
			grip.setPointerCapture(event.pointerId);
			grip.addEventListener('pointermove', move);
			grip.addEventListener('pointerup', end);
			grip.addEventListener('pointercancel', end);
		});
		return grip;
	}

	#resize(index: number, width: number): void {
		this.#widths[index] = Math.max(narrowest, Math.min(widest, width));
		this.#layout();
	}

	#row(index: number): HTMLElement {
		const { columns, canOpen, onOpen } = this.#shape;
		const opens = canOpen(index);
		const number = opens
			? element(
					'button',
					{
						class: 'row-open',
						tabIndex: -1,
						title: 'Open in the rollouts panel',
						attributes: { type: 'button' },
						aria: { label: `Open row ${index + 1}` },
						on: { click: () => onOpen(index) },
					},
					icon('open'),
					String(index + 1),
				)
			: element('span', { class: 'row-open plain', tabIndex: -1 }, String(index + 1));
		const row = element(
			'div',
			{ class: `result-row${opens ? ' opens' : ''}${index % 2 === 1 ? ' even' : ''}` },
			element('span', { class: 'row-number', role: 'rowheader' }, number),
			...columns.map((column) => {
				const { text, title, parts } = column.cell(index);
				return element(
					'span',
					{
						class: column.numeric ? 'cell numeric' : 'cell',
						role: 'cell',
						...(title === undefined ? {} : { title }),
					},
					...(parts ?? [text]),
				);
			}),
		);
		if (opens) row.addEventListener('dblclick', () => onOpen(index));
		number.addEventListener('focus', () => {
			this.#active = index;
		});
		return row;
	}

	#onKey(event: KeyboardEvent): void {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') return;
		const { rows } = this.#shape;
		const page = Math.max(1, Math.floor(this.#list.element.clientHeight / rowHeight) - 1);
		const by = { PageDown: page, PageUp: -page }[event.key];
		const inside = event.target !== this.#list.element;
		const next =
			by === undefined
				? nextFocus(event.key, inside ? this.#active : -1, rows)
				: Math.max(0, Math.min(rows - 1, this.#active + by));
		if (next === null) return;
		event.preventDefault();
		this.#active = next;
		this.#list.reveal(next)?.querySelector<HTMLElement>('.row-open')?.focus({ preventScroll: true });
	}
}
