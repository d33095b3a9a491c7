import { Disposable } from '../../src/base/disposable.ts';
import { ColumnWidths } from './columnWidths.ts';
import { type Child, element, fill, setAria, setText, setTitle } from './dom.ts';
import { VirtualList } from './virtualList.ts';

export interface DataColumn {
	readonly name: string;
	/** Header text. Defaults to the name. */
	readonly label?: string;
	/** Shown before the name. */
	readonly mark?: Node;
	/** Small text after the name, such as a type. */
	readonly note?: string;
	/** Header tooltip. */
	readonly title: string;
	readonly numeric: boolean;
	/** Initial width in CSS pixels. */
	readonly width: number;
}

export interface DataCell {
	readonly text: string;
	readonly title?: string;
	/** Content shown in place of the text. */
	readonly parts?: readonly Child[];
}

export interface DataRow {
	/** Row number, with icons or marks. */
	readonly number: readonly Child[];
	readonly numberLabel?: string;
	/** One cell per column; missing cells are empty. */
	readonly cells: readonly DataCell[];
	readonly opens: boolean;
	readonly selected?: boolean;
	readonly invalid?: boolean;
}

export interface DataSort {
	readonly column: string;
	readonly descending: boolean;
}

export interface DataTableOptions {
	readonly label: string;
	readonly numberHead: string;
	/** Width of the row number column, in CSS pixels. */
	readonly numberWidth: number;
	/** Returns the content of a row; undefined if it is not loaded yet (see {@link DataTable.refresh}). */
	readonly row: (index: number) => DataRow | undefined;
	readonly onOpen: (index: number, by: 'key' | 'pointer') => void;
	/** Pointer action that opens a row: a click anywhere in it, or only a click on its number or a double-click. */
	readonly opensOn: 'click' | 'number';
	readonly onResize?: (column: string, width: number) => void;
}

const rowHeight = 24;

/**
 * Grid that draws only the visible rows, so it can have any number of rows. Arrow keys, Page Up, Page Down, Home and
 * End move between cells, and Enter opens a row. Columns can be resized with the pointer or with Alt+Left and
 * Alt+Right.
 */
export class DataTable extends Disposable {
	readonly element: HTMLElement;
	readonly #options: DataTableOptions;
	readonly #list: VirtualList;
	readonly #head = element('div', { class: 'data-row data-head', role: 'row', aria: { rowindex: 1 } });
	readonly #headBox = element('div', { class: 'data-head-box', role: 'rowgroup' }, this.#head);
	readonly #widths: ColumnWidths;
	readonly #drawn = new Map<number, HTMLElement>();
	#columns: readonly DataColumn[] = [];
	#count = 0;
	#active = { row: 0, column: 0 };

	constructor(options: DataTableOptions) {
		super();
		this.#options = options;
		this.#list = this.register(
			new VirtualList({
				label: `${options.label}, rows`,
				role: 'rowgroup',
				rowRole: 'row',
				rowHeight,
				position: 'rowindex',
				positionOffset: 1,
				class: 'data-rows',
				render: (index) => this.#make(index),
			}),
		);
		const rows = this.#list.element;
		rows.addEventListener('scroll', () => {
			this.#headBox.scrollLeft = rows.scrollLeft;
		});
		rows.addEventListener('keydown', (event) => this.#onKey(event));
		this.element = element(
			'div',
			{ class: 'data-table', role: 'grid', aria: { label: options.label, readonly: true } },
			this.#headBox,
			rows,
		);
		this.#widths = new ColumnWidths(this.element, options.numberWidth, (index, width) => {
			options.onResize?.((this.#columns[index] as DataColumn).name, width);
		});
	}

	/**
	 * Sets the columns, which take effect when {@link setRows} draws the rows.
	 * @param onSort if omitted, the table cannot be sorted
	 */
	setColumns(columns: readonly DataColumn[], sort: DataSort | null, onSort?: (column: string) => void): void {
		this.#columns = columns;
		this.#widths.set(columns.map(({ width }) => width));
		this.setSort(sort, onSort);
		setAria(this.element, 'colcount', columns.length + 1);
	}

	/** Shows the sort order in the header. */
	setSort(sort: DataSort | null, onSort?: (column: string) => void): void {
		fill(
			this.#head,
			element('span', { class: 'row-number', role: 'columnheader' }, this.#options.numberHead),
			...this.#columns.map((column, i) =>
				this.#headCell(column, i, sort?.column === column.name ? sort.descending : null, onSort),
			),
		);
	}

	/** Sets the number of rows and draws the visible ones. */
	setRows(count: number): void {
		const { activeElement } = document;
		const rows = this.#list.element;
		const focused = rows.contains(activeElement) && activeElement !== rows;
		this.#count = count;
		setAria(this.element, 'rowcount', count + 1);
		this.#drawn.clear();
		this.#list.setCount(count);
		if (focused) this.focus();
	}

	/** Updates the visible rows after rows have been loaded or the selection has changed. */
	refresh(): void {
		for (const [index, row] of this.#drawn) {
			if (row.isConnected) this.#fillRow(row, index);
			else this.#drawn.delete(index);
		}
	}

	/** Focuses the cell that last had focus. */
	focus(): void {
		const { row, column } = this.#active;
		const node = this.#list.reveal(row)?.children[column] as HTMLElement | undefined;
		node?.focus({ preventScroll: true });
		node?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
	}

	/** Scrolls a row into view. */
	reveal(index: number): void {
		this.#active = { ...this.#active, row: index };
		this.#list.reveal(index);
	}

	override dispose(): void {
		super.dispose();
		this.element.remove();
	}

	#headCell(
		{ name, label: words = name, mark, note, title, numeric }: DataColumn,
		index: number,
		descending: boolean | null,
		onSort?: (column: string) => void,
	): HTMLElement {
		const parts = [
			mark,
			element('span', { class: 'head-name' }, words),
			note === undefined ? null : element('span', { class: 'head-note quiet' }, ` ${note}`),
		];
		const arrow =
			descending === null ? null : element('span', { aria: { hidden: true } }, descending ? ' \u2193' : ' \u2191');
		const label = onSort
			? element(
					'button',
					{
						class: 'head-button',
						title: `${title}\nClick to sort. Press Alt+Left or Alt+Right to resize.`,
						attributes: { type: 'button' },
						on: { click: () => onSort(name) },
					},
					...parts,
					arrow,
				)
			: element(
					'span',
					{ class: 'head-button', title: `${title}\nPress Alt+Left or Alt+Right to resize.`, tabIndex: 0 },
					...parts,
				);
		label.addEventListener('keydown', (event) => this.#widths.onKey(event, index));
		return element(
			'span',
			{
				class: numeric ? 'head-cell numeric' : 'head-cell',
				role: 'columnheader',
				aria: { sort: descending === null ? null : descending ? 'descending' : 'ascending', colindex: index + 2 },
			},
			label,
			this.#widths.grip(index),
		);
	}

	#make(index: number): HTMLElement {
		const cell = (column: number, className: string, role: string) =>
			element('span', {
				class: className,
				role,
				tabIndex: -1,
				aria: { colindex: column + 1 },
				data: { column },
				on: {
					focus: () => {
						this.#active = { row: index, column };
					},
				},
			});
		const number = cell(0, 'row-number', 'rowheader');
		const row = element(
			'div',
			{ class: `data-row${index % 2 === 1 ? ' even' : ''}` },
			number,
			...this.#columns.map(({ numeric }, i) => cell(i + 1, numeric ? 'cell numeric' : 'cell', 'gridcell')),
		);
		const open = (): void => this.#open(index, 'pointer');
		if (this.#options.opensOn === 'click') row.addEventListener('click', open);
		else {
			number.addEventListener('click', open);
			row.addEventListener('dblclick', (event) => {
				if (!number.contains(event.target as Node)) open();
			});
		}
		this.#drawn.set(index, row);
		this.#fillRow(row, index);
		return row;
	}

	#fillRow(row: HTMLElement, index: number): void {
		const content = this.#options.row(index);
		const [number, ...cells] = [...row.children] as HTMLElement[];
		if (content === undefined || number === undefined) return;
		fill(number, ...content.number);
		setAria(number, 'label', content.numberLabel);
		setAria(row, 'selected', content.selected);
		row.classList.toggle('opens', content.opens);
		row.classList.toggle('invalid', content.invalid === true);
		for (const [i, node] of cells.entries()) {
			const { text, title = '', parts } = content.cells[i] ?? { text: '' };
			if (parts) fill(node, ...parts);
			else setText(node, text);
			setTitle(node, title);
		}
	}

	#open(index: number, by: 'key' | 'pointer'): void {
		if (this.#options.row(index)?.opens !== false) this.#options.onOpen(index, by);
	}

	#onKey(event: KeyboardEvent): void {
		if (event.ctrlKey || event.altKey || event.metaKey || this.#count === 0) return;
		const rows = this.#list.element;
		const page = Math.max(1, Math.floor(rows.clientHeight / rowHeight) - 1);
		const inside = event.target !== rows;
		const { row, column } = this.#active;
		const last = this.#count - 1;
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
		const next = to[event.key];
		if (event.key !== 'Enter' && next === undefined) return;
		event.preventDefault();
		if (next === undefined) {
			this.#open(row, 'key');
			return;
		}
		const clamp = (value: number, max: number): number => Math.max(0, Math.min(max, value));
		this.#active = { row: clamp(next[0], last), column: clamp(next[1], this.#columns.length) };
		this.focus();
	}
}
