import { cellNumber, type RowValue } from './tableRow.ts';

export const columnTypes = ['text', 'number', 'boolean', 'list', 'object', 'mixed', 'empty'] as const;
export type ColumnType = (typeof columnTypes)[number];

export interface TableColumn {
	readonly name: string;
	readonly type: ColumnType;
	/** Mean length in characters across the sampled rows. */
	readonly length: number;
}

/** Maximum number of columns to track. */
export const maxColumns = 200;

/** Infers columns and their types from rows. */
export class ColumnFinder {
	readonly #columns = new Map<
		string,
		{ readonly types: Map<ColumnType, number>; characters: number; filled: number }
	>();
	readonly #textNumbers: boolean;

	/** @param textNumbers whether numeric strings count as numbers, for formats in which every value is a string */
	constructor({ textNumbers = false }: { readonly textNumbers?: boolean } = {}) {
		this.#textNumbers = textNumbers;
	}

	add(row: RowValue): void {
		for (const [name, value] of Object.entries(row)) {
			let column = this.#columns.get(name);
			if (column === undefined) {
				if (this.#columns.size >= maxColumns) continue;
				column = { types: new Map(), characters: 0, filled: 0 };
				this.#columns.set(name, column);
			}
			const type = typeOf(value, this.#textNumbers);
			if (type === 'empty') continue;
			column.types.set(type, (column.types.get(type) ?? 0) + 1);
			column.filled++;
			column.characters += lengthOf(value);
		}
	}

	/** Columns in order of first appearance. */
	get columns(): TableColumn[] {
		return [...this.#columns].map(([name, { types, characters, filled }]) => ({
			name,
			type: types.size === 0 ? 'empty' : types.size === 1 ? ([...types.keys()][0] as ColumnType) : 'mixed',
			length: filled === 0 ? 0 : characters / filled,
		}));
	}
}

function typeOf(value: unknown, textNumbers: boolean): ColumnType {
	switch (typeof value) {
		case 'string':
			if (!textNumbers) return 'text';
			return value.trim() === '' ? 'empty' : cellNumber(value) === null ? 'text' : 'number';
		case 'number':
			return 'number';
		case 'boolean':
			return 'boolean';
		case 'object':
			return value === null ? 'empty' : Array.isArray(value) ? 'list' : 'object';
		default:
			return 'empty';
	}
}

function lengthOf(value: unknown): number {
	if (typeof value === 'string') return value.length;
	if (typeof value !== 'object' || value === null) return String(value).length;
	// Approximate; columns with long lists get the maximum width.
	return Array.isArray(value) ? value.length * 8 : Object.keys(value).length * 16;
}
