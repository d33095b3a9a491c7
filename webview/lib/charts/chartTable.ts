import type { IDisposable } from '../../../src/base/disposable.ts';
import { element, setAria } from '../dom.ts';
import { VirtualList } from '../virtualList.ts';

export interface TableColumn {
	readonly label: string;
	/** Returns the text of a cell. */
	readonly cell: (row: number) => string;
}

/** Returns the rows in which at least one column has a value, newest last. */
export function rowsWithValues(columns: readonly (Float64Array | undefined)[], from: number, to: number): Int32Array {
	const rows: number[] = [];
	for (let row = from; row < to; row++) {
		if (columns.some((column) => column !== undefined && !Number.isNaN(column[row]))) rows.push(row);
	}
	return Int32Array.from(rows);
}

/** Table of a chart's data, for exact values and for assistive technology. */
export class ChartTable implements IDisposable {
	readonly element: HTMLElement;
	readonly #list: VirtualList;
	readonly #columns: readonly TableColumn[];
	#rows: Int32Array = new Int32Array(0);

	constructor(label: string, columns: readonly TableColumn[]) {
		this.#columns = columns;
		this.#list = new VirtualList({
			label: `${label}, rows`,
			role: 'rowgroup',
			rowRole: 'row',
			rowHeight: 22,
			position: 'rowindex',
			positionOffset: 1,
			class: 'chart-table-rows',
			render: (index) => this.#row(this.#rows[index] as number),
		});
		const header = element(
			'div',
			{ class: 'chart-table-row chart-table-header', role: 'row', aria: { rowindex: 1 } },
			...columns.map((column) => element('span', { role: 'columnheader', title: column.label }, column.label)),
		);
		this.element = element(
			'div',
			{ class: 'chart-table', role: 'table', aria: { label, colcount: columns.length } },
			element('div', { role: 'rowgroup' }, header),
			this.#list.element,
		);
	}

	/** Shows the given rows. If the table was scrolled to the end, it stays there. */
	setRows(rows: Int32Array): void {
		const atEnd = this.#list.atEnd;
		this.#rows = rows;
		setAria(this.element, 'rowcount', rows.length + 1);
		this.#list.setCount(rows.length);
		if (atEnd && rows.length > 0) this.#list.reveal(rows.length - 1);
	}

	dispose(): void {
		this.#list.dispose();
		this.element.remove();
	}

	#row(row: number): HTMLElement {
		return element(
			'div',
			{ class: 'chart-table-row' },
			...this.#columns.map((column, i) => element('span', { role: i === 0 ? 'rowheader' : 'cell' }, column.cell(row))),
		);
	}
}
