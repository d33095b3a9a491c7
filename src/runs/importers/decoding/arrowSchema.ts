import type { FlatTable } from './flatTable.ts';

/** Arrow column types that can be read. */
export type ArrowType =
	| { readonly kind: 'null' | 'bool' }
	| { readonly kind: 'int'; readonly bytes: 1 | 2 | 4 | 8; readonly signed: boolean }
	| { readonly kind: 'float'; readonly bytes: 2 | 4 | 8 }
	| { readonly kind: 'decimal'; readonly bytes: number; readonly scale: number }
	/** Number of units per second, or `days` for values in days. */
	| { readonly kind: 'time'; readonly bytes: 4 | 8; readonly perSecond: number | 'days' }
	/** Text and bytes. */
	| { readonly kind: 'text'; readonly offsets: 4 | 8 }
	| { readonly kind: 'bytes'; readonly size: number }
	| { readonly kind: 'list'; readonly offsets: 4 | 8; readonly item: ArrowField }
	| { readonly kind: 'lists'; readonly size: number; readonly item: ArrowField }
	| { readonly kind: 'struct'; readonly fields: readonly ArrowField[] }
	| { readonly kind: 'map'; readonly key: ArrowField; readonly value: ArrowField }
	/** Indexes into the dictionary with this id. */
	| { readonly kind: 'dictionary'; readonly id: number; readonly places: ArrowType; readonly values: ArrowType };

export interface ArrowField {
	readonly name: string;
	readonly type: ArrowType;
}

const maxDepth = 64;
const maxFields = 10_000;
/** Maximum scale of a 256-bit decimal. */
const maxScale = 76;

/** Names of unsupported types, by number in Schema.fbs. */
const unread: Readonly<Record<number, string>> = {
	11: 'interval',
	14: 'union',
	22: 'run-end encoded',
	23: 'binary view',
	24: 'string view',
	25: 'list view',
	26: 'large list view',
};

/**
 * Reads the columns from a Schema message. For unsupported columns, throws an error whose message is a sentence
 * fragment.
 */
export function readSchema(schema: FlatTable): ArrowField[] {
	if (schema.int(0, 2) !== 0) throw new Error('its numbers are big-endian');
	let fields = 0;
	const fieldOf = (field: FlatTable, depth: number): ArrowField => {
		if (depth > maxDepth) throw new Error(`its columns are nested more than ${maxDepth} levels deep`);
		if (++fields > maxFields) throw new Error(`it has more than ${maxFields} columns`);
		const name = field.text(0);
		const children = field.tables(5).map((child) => fieldOf(child, depth + 1));
		const values = typeOf(field, name, children);
		const dictionary = field.table(4);
		if (dictionary === null) return { name, type: values };
		const places = dictionary.table(1);
		return {
			name,
			type: {
				kind: 'dictionary',
				id: dictionary.size(0),
				places: places === null ? { kind: 'int', bytes: 4, signed: true } : intOf(places, name),
				values,
			},
		};
	};
	return schema.tables(1).map((field) => fieldOf(field, 1));
}

function typeOf(field: FlatTable, name: string, children: readonly ArrowField[]): ArrowType {
	const number = field.int(2, 1);
	const type = field.table(3);
	const int = (slot: number, bytes: 2 | 4, absent: number) => type?.int(slot, bytes, absent) ?? absent;
	switch (number) {
		case 1:
			return { kind: 'null' };
		case 2:
			if (type === null) break;
			return intOf(type, name);
		case 3:
			return { kind: 'float', bytes: oneOf([2, 4, 8] as const, int(0, 2, 0), name) };
		case 4:
		case 5:
			return { kind: 'text', offsets: 4 };
		case 6:
			return { kind: 'bool' };
		case 7: {
			const scale = int(1, 4, 0);
			if (Math.abs(scale) > maxScale) break;
			return { kind: 'decimal', bytes: within([32, 64, 128, 256], int(2, 4, 128), name) / 8, scale };
		}
		case 8:
			return int(0, 2, 1) === 0
				? { kind: 'time', bytes: 4, perSecond: 'days' }
				: { kind: 'time', bytes: 8, perSecond: 1000 };
		// Times of day and durations are returned as numbers in their own unit, as for Parquet.
		case 9:
			return { kind: 'int', bytes: within([32, 64], int(1, 4, 32), name) === 32 ? 4 : 8, signed: true };
		case 18:
			return { kind: 'int', bytes: 8, signed: true };
		case 10:
			return { kind: 'time', bytes: 8, perSecond: oneOf([1, 1e3, 1e6, 1e9] as const, int(0, 2, 0), name) };
		case 12:
		case 21:
			if (children[0] === undefined) break;
			return { kind: 'list', offsets: number === 12 ? 4 : 8, item: children[0] };
		case 13:
			return { kind: 'struct', fields: children };
		case 15:
			return { kind: 'bytes', size: Math.max(0, int(0, 4, 0)) };
		case 16:
			if (children[0] === undefined) break;
			return { kind: 'lists', size: Math.max(0, int(0, 4, 0)), item: children[0] };
		case 17: {
			const entries = children[0]?.type;
			const [key, value] = entries?.kind === 'struct' ? entries.fields : [];
			if (key === undefined || value === undefined) break;
			return { kind: 'map', key, value };
		}
		case 19:
		case 20:
			return { kind: 'text', offsets: 8 };
	}
	const what = unread[number];
	throw new Error(
		what === undefined ? `the type of ${quoted(name)} is invalid` : `${quoted(name)} is a ${what} column`,
	);
}

function intOf(type: FlatTable, name: string): ArrowType {
	const bits = within([8, 16, 32, 64], type.int(0, 4), name);
	return { kind: 'int', bytes: (bits / 8) as 1 | 2 | 4 | 8, signed: type.bool(1) };
}

function oneOf<T>(choices: readonly T[], index: number, name: string): T {
	const chosen = choices[index];
	if (chosen === undefined) throw new Error(`the type of ${quoted(name)} is invalid`);
	return chosen;
}

function within(choices: readonly number[], value: number, name: string): number {
	return oneOf(choices, choices.indexOf(value), name);
}

const quoted = (name: string) => JSON.stringify(name.slice(0, 80));
