import { Disposable } from '../../src/base/disposable.ts';
import type { DatasetColumn, ShownRow } from '../../src/protocol/datasetMessages.ts';
import { element, fill, setAria, setText, setTitle } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { VirtualList } from '../lib/virtualList.ts';
import type { DatasetModel } from './datasetModel.ts';

const rowHeight = 24;
/** Of the number of the row and its marks. */
const numberWidth = 92;
const narrowest = 48;
const widest = 1200;

/**
 * The rows of the view as a grid: draws those in sight. Arrows, Page Up and Down, Home and End move between cells, Enter and
 * a click open a row; columns can be resized.
 */
export class RowTable extends Disposable {
	readonly element: HTMLElement;
	readonly #model: DatasetModel;
	readonly #list: VirtualList;
	readonly #head = element('div', { class: 'grid-row grid-head', role: 'row', aria: { rowindex: 1 } });
	readonly #headBox = element('div', { class: 'grid-head-box', role: 'rowgroup' }, this.#head);
	readonly #onOpen: () => void;
	readonly #drawn = new Map<number, HTMLElement>();
	#columns: readonly DatasetColumn[] = [];
	#shape = '';
	#count = -1;
	#active = { row: 0, column: 0 };
	/** A row to open once it is read. */
	#wanted: { readonly index: number; readonly byKey: boolean } | null = null;

	/** @param onOpen a row was opened by key: its detail gets the focus */
	constructor(model: DatasetModel, onOpen: () => void) {
		super();
		this.#model = model;
		this.#onOpen = onOpen;
		this.#list = this.register(
			new VirtualList({
				label: 'Rows',
				role: 'rowgroup',
				rowRole: 'row',
				rowHeight,
				position: 'rowindex',
				positionOffset: 1,
				class: 'grid-rows',
				render: (index) => this.#make(index),
			}),
		);
		this.#list.element.addEventListener('scroll', () => {
			this.#headBox.scrollLeft = this.#list.element.scrollLeft;
		});
		this.element = element(
			'div',
			{ class: 'grid', role: 'grid', aria: { label: 'Rows of the dataset', readonly: true } },
			this.#headBox,
			this.#list.element,
		);
		this.#list.element.addEventListener('keydown', (event) => this.#onKey(event));
		this.register(
			model.onChange((change) => {
				if (change === 'snapshot') this.update();
				else if (change === 'rows') {
					this.#fillDrawn();
					this.#openWanted();
				} else if (change === 'detail') this.#markOpen();
				else this.#layout();
			}),
		);
	}

	update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		const { columns, view } = snapshot;
		const shape = JSON.stringify([columns.map(({ name, type }) => [name, type]), view.sort]);
		const sameShape = shape === this.#shape;
		if (!sameShape) {
			this.#shape = shape;
			this.#columns = columns;
			fill(this.#head, this.#numberHead(), ...columns.map((column, i) => this.#headCell(column, i)));
			setAria(this.element, 'colcount', columns.length + 1);
			this.#layout();
		}
		if (sameShape && view.rows === this.#count) {
			this.#fillDrawn();
			return;
		}
		if (view.rows !== this.#count) this.#model.forgetLast();
		this.#count = view.rows;
		this.#wanted = null;
		setAria(this.element, 'rowcount', view.rows + 1);
		const focused =
			this.#list.element.contains(document.activeElement) && document.activeElement !== this.#list.element;
		this.#drawn.clear();
		this.#list.setCount(view.rows);
		if (focused) this.#focus(this.#active.row, this.#active.column);
	}

	/** Back to the row that was left for its detail. */
	focus(): void {
		this.#focus(this.#active.row, this.#active.column);
	}

	/** Brings a row of the view into sight. */
	reveal(index: number): void {
		this.#active = { ...this.#active, row: index };
		this.#list.reveal(index);
	}

	#width(column: DatasetColumn): number {
		const { widths } = this.#model.saved;
		// A column may be named like what every object has.
		const set = Object.hasOwn(widths, column.name) ? widths[column.name] : undefined;
		if (set !== undefined) return Math.max(narrowest, Math.min(widest, set));
		// The name, its type in smaller letters, and room for the arrow of the order.
		const title = 38 + 7.5 * column.name.length + 6.5 * column.type.length;
		const content = column.type === 'number' || column.type === 'boolean' ? 90 : 24 + 7 * column.length;
		return Math.max(80, Math.min(420, Math.max(title, content)));
	}

	#layout(): void {
		const widths = this.#columns.map((column) => this.#width(column));
		const { style } = this.element;
		style.setProperty('--columns', [numberWidth, ...widths].map((width) => `${width}px`).join(' '));
		style.setProperty('--row-width', `${widths.reduce((sum, width) => sum + width, numberWidth)}px`);
	}

	#numberHead(): HTMLElement {
		return element('span', { class: 'row-number', role: 'columnheader' }, 'Row');
	}

	#headCell(column: DatasetColumn, index: number): HTMLElement {
		const sort = this.#model.snapshot?.view.sort;
		const sorted = sort?.column === column.name ? sort : null;
		const name = plainLabel(column.name);
		const label = element(
			'button',
			{
				class: 'head-button',
				title: `${name}: ${column.type}\nClick to sort; Alt+Left and Alt+Right resize.`,
				attributes: { type: 'button' },
				on: { click: () => this.#model.sortBy(column.name) },
			},
			element('span', { class: 'head-name' }, name),
			element('span', { class: 'head-type quiet' }, ` ${column.type}`),
			sorted === null ? null : element('span', { aria: { hidden: true } }, sorted.descending ? ' \u2193' : ' \u2191'),
		);
		label.addEventListener('keydown', (event) => {
			if (!event.altKey || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
			event.preventDefault();
			this.#model.setWidth(column.name, this.#width(column) + (event.key === 'ArrowLeft' ? -16 : 16));
		});
		return element(
			'span',
			{
				class: column.type === 'number' ? 'head-cell numeric' : 'head-cell',
				role: 'columnheader',
				aria: { sort: sorted === null ? null : sorted.descending ? 'descending' : 'ascending', colindex: index + 2 },
			},
			label,
			this.#grip(column),
		);
	}

	#grip(column: DatasetColumn): HTMLElement {
		const grip = element('span', { class: 'grip', aria: { hidden: true } });
		grip.addEventListener('pointerdown', (event) => {
			event.preventDefault();
			const start = event.clientX;
			const width = this.#width(column);
			const move = (moved: PointerEvent): void => {
				const next = Math.max(narrowest, Math.min(widest, width + moved.clientX - start));
				this.#model.setWidth(column.name, next);
			};
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

	#make(index: number): HTMLElement {
		const cell = (column: number, options: { class: string; role: string }) =>
			element('span', {
				...options,
				tabIndex: -1,
				aria: { colindex: column + 1 },
				data: { column },
				on: {
					focus: () => {
						this.#active = { row: index, column };
					},
				},
			});
		const row = element(
			'div',
			{ class: `grid-row${index % 2 === 1 ? ' even' : ''}` },
			cell(0, { class: 'row-number', role: 'rowheader' }),
			...this.#columns.map(({ type }, i) =>
				cell(i + 1, { class: type === 'number' ? 'cell numeric' : 'cell', role: 'gridcell' }),
			),
		);
		row.addEventListener('click', () => this.#openRow(index, false));
		this.#drawn.set(index, row);
		this.#fillRow(row, index);
		return row;
	}

	#fillDrawn(): void {
		for (const [index, row] of this.#drawn) {
			if (row.isConnected) this.#fillRow(row, index);
			else this.#drawn.delete(index);
		}
	}

	#fillRow(row: HTMLElement, index: number): void {
		const shown = this.#model.row(index);
		const [number, ...cells] = [...row.children] as HTMLElement[];
		if (shown === undefined || number === undefined) return;
		fill(number, ...marksOf(shown), String(shown.row + 1));
		row.classList.toggle('faulty', shown.fault !== null);
		setAria(row, 'selected', this.#model.open?.row === shown.row);
		row.dataset.row = String(shown.row);
		if (shown.fault !== null) {
			for (const [i, cell] of cells.entries()) setText(cell, i === 0 ? `This row ${shown.fault}.` : '');
			return;
		}
		for (const [i, cell] of cells.entries()) {
			const text = shown.cells[i] ?? null;
			setText(cell, text === null ? '' : plainLabel(text, 400));
			setTitle(cell, text !== null && text.length > 30 ? plainLabel(text, 400) : '');
		}
	}

	#markOpen(): void {
		const open = this.#model.open;
		for (const row of this.#drawn.values()) setAria(row, 'selected', row.dataset.row === String(open?.row ?? ''));
	}

	#openRow(index: number, byKey: boolean): void {
		const shown = this.#model.row(index);
		this.#wanted = shown === undefined ? { index, byKey } : null;
		if (shown === undefined) return;
		this.#model.setSide('row');
		void this.#model.openRow(shown.row, index);
		if (byKey) this.#onOpen();
	}

	#openWanted(): void {
		if (this.#wanted !== null && this.#model.row(this.#wanted.index) !== undefined) {
			this.#openRow(this.#wanted.index, this.#wanted.byKey);
		}
	}

	#focus(row: number, column: number): void {
		const node = this.#list.reveal(row)?.children[column] as HTMLElement | undefined;
		node?.focus({ preventScroll: true });
		node?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
	}

	#onKey(event: KeyboardEvent): void {
		if (event.altKey || event.metaKey || this.#count <= 0) return;
		const page = Math.max(1, Math.floor(this.#list.element.clientHeight / rowHeight) - 1);
		const inside = event.target !== this.#list.element;
		const { row, column } = this.#active;
		const last = this.#count - 1;
		const columns = this.#columns.length;
		const to: Readonly<Record<string, readonly [number, number]>> = {
			ArrowDown: [inside ? row + 1 : row, column],
			ArrowUp: [row - 1, column],
			PageDown: [row + page, column],
			PageUp: [row - page, column],
			ArrowRight: [row, column + 1],
			ArrowLeft: [row, column - 1],
			Home: [0, column],
			End: [last, column],
		};
		if (event.key === 'Enter') {
			event.preventDefault();
			this.#openRow(row, true);
			return;
		}
		const next = to[event.key];
		if (next === undefined) return;
		event.preventDefault();
		const clamp = (value: number, most: number) => Math.max(0, Math.min(most, value));
		this.#active = { row: clamp(next[0], last), column: clamp(next[1], columns) };
		this.#focus(this.#active.row, this.#active.column);
	}
}

/** What is to be known of a row at a glance, each with a word for screen readers. */
function marksOf({ repeats, overlaps, heldOut }: ShownRow): HTMLElement[] {
	const mark = (letter: string, title: string, kind: string) =>
		element(
			'span',
			{ class: `mark ${kind}`, title },
			element('span', { aria: { hidden: true } }, letter),
			element('span', { class: 'visually-hidden' }, `${title}, `),
		);
	return [
		...(overlaps ? [mark('T', 'Overlaps with a test set', 'bad')] : []),
		...(repeats ? [mark('D', 'Repeats an earlier row', 'warn')] : []),
		...(heldOut ? [mark('H', 'Held out', 'held')] : []),
	];
}
