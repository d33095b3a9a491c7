import { Disposable } from '../../src/base/disposable.ts';
import type { DatasetColumn, ShownRow } from '../../src/protocol/datasetMessages.ts';
import { maxColumnWidth, minColumnWidth } from '../lib/columnWidths.ts';
import { type DataRow, DataTable } from '../lib/dataTable.ts';
import { element, unseen } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { DatasetModel } from './datasetModel.ts';

/** Maximum number of characters shown in a cell. */
const maxCellLength = 400;

/** Table of the filtered rows. A click or Enter opens a row next to the table. */
export class RowTable extends Disposable {
	readonly #model: DatasetModel;
	readonly #table: DataTable;
	readonly #onOpen: () => void;
	#shape = '';
	#count = -1;
	/** Row to open once it is loaded. */
	#pending: { readonly index: number; readonly by: 'key' | 'pointer' } | null = null;

	/** @param onOpen called when a row is opened with the keyboard, to focus its details */
	constructor(model: DatasetModel, onOpen: () => void) {
		super();
		this.#model = model;
		this.#onOpen = onOpen;
		this.#table = this.register(
			new DataTable({
				label: 'Dataset rows',
				numberHead: 'Row',
				numberWidth: 92,
				row: (index) => this.#row(index),
				onOpen: (index, by) => this.#open(index, by),
				opensOn: 'click',
				onResize: (column, width) => model.setWidth(column, width),
			}),
		);
		this.register(
			model.onChange((change) => {
				if (change === 'snapshot') this.update();
				else if (change === 'rows') {
					this.#table.refresh();
					this.#openPending();
				} else if (change === 'detail') this.#table.refresh();
				else if (change === 'revealed' && typeof model.open?.index === 'number') this.reveal(model.open.index);
			}),
		);
	}

	get element(): HTMLElement {
		return this.#table.element;
	}

	update(): void {
		const snapshot = this.#model.snapshot;
		if (snapshot === null) return;
		const { columns, view } = snapshot;
		const shape = JSON.stringify([columns.map(({ name, type }) => [name, type]), view.sort]);
		const sameShape = shape === this.#shape;
		if (!sameShape) {
			this.#shape = shape;
			this.#table.setColumns(
				columns.map((column) => ({
					name: column.name,
					label: plainLabel(column.name),
					note: column.type,
					title: `${plainLabel(column.name)}: ${column.type}`,
					numeric: column.type === 'number',
					width: this.#width(column),
				})),
				view.sort,
				(column) => this.#model.sortBy(column),
			);
		}
		if (sameShape && view.rows === this.#count) {
			this.#table.refresh();
			return;
		}
		if (view.rows !== this.#count) this.#model.forgetLast();
		this.#count = view.rows;
		this.#pending = null;
		this.#table.setRows(view.rows);
	}

	/** Moves focus back to the table from the row details. */
	focus(): void {
		this.#table.focus();
	}

	reveal(index: number): void {
		this.#table.reveal(index);
	}

	#width(column: DatasetColumn): number {
		const { widths } = this.#model.saved;
		// A column may share its name with an inherited property.
		const set = Object.hasOwn(widths, column.name) ? widths[column.name] : undefined;
		if (set !== undefined) return Math.max(minColumnWidth, Math.min(maxColumnWidth, set));
		// Leave room for the name, the smaller type label, and the sort arrow.
		const title = 38 + 7.5 * column.name.length + 6.5 * column.type.length;
		const content = column.type === 'number' || column.type === 'boolean' ? 90 : 24 + 7 * column.length;
		return Math.max(80, Math.min(420, Math.max(title, content)));
	}

	#row(index: number): DataRow | undefined {
		const shown = this.#model.row(index);
		if (shown === undefined) return undefined;
		const { row, fault, cells } = shown;
		return {
			number: [...marksOf(shown), String(row + 1)],
			opens: true,
			selected: this.#model.open?.row === row,
			invalid: fault !== null,
			cells:
				fault !== null
					? [{ text: `This row ${fault}.` }]
					: cells.map((cell) => {
							const text = cell === null ? '' : plainLabel(cell, maxCellLength);
							return { text, title: cell !== null && cell.length > 30 ? text : '' };
						}),
		};
	}

	#open(index: number, by: 'key' | 'pointer'): void {
		const shown = this.#model.row(index);
		this.#pending = shown === undefined ? { index, by } : null;
		if (shown === undefined) return;
		this.#model.setSide('row');
		void this.#model.openRow(shown.row, index);
		if (by === 'key') this.#onOpen();
	}

	#openPending(): void {
		if (this.#pending !== null && this.#model.row(this.#pending.index) !== undefined) {
			this.#open(this.#pending.index, this.#pending.by);
		}
	}
}

/** Returns the marks for a row, each with a description for screen readers. */
function marksOf({ repeats, overlaps, heldOut }: ShownRow): HTMLElement[] {
	const mark = (letter: string, title: string, kind: string) =>
		element(
			'span',
			{ class: `mark ${kind}`, title },
			element('span', { aria: { hidden: true } }, letter),
			unseen(`${title}, `),
		);
	return [
		...(overlaps ? [mark('T', 'Overlaps with a test set', 'bad')] : []),
		...(repeats ? [mark('D', 'Duplicate of an earlier row', 'warn')] : []),
		...(heldOut ? [mark('H', 'Held out', 'held')] : []),
	];
}
