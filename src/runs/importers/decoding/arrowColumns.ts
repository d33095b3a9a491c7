import type { BatchLayout } from './arrowMessages.ts';
import type { ArrowField, ArrowType } from './arrowSchema.ts';
import { sizeOf } from './rowLimits.ts';

/** A column in one batch: its type, number of values, and their location. */
interface ArrowColumn {
	readonly type: ArrowType;
	readonly length: number;
	/** One bit per value that is set if the value is present; empty if all are present. */
	readonly validity: Region;
	readonly buffers: readonly Region[];
	readonly children: readonly ArrowColumn[];
}

type Region = readonly [offset: number, length: number];

/** Source of column values, with a limit on how many can be read. */
export interface ColumnSource {
	/** Returns bytes from the body of the batch. */
	bytes(offset: number, length: number): Promise<Uint8Array>;
	/** Called before this many bytes of values are created; throws if that exceeds the limit. */
	take(bytes: number): void;
	dictionary(id: number, values: ArrowType): Promise<readonly unknown[]>;
}

/**
 * Reads row values from a batch, one list per field: null, booleans, numbers, strings (including for bytes, and for times as
 * in JSON), lists and objects. Nothing in the file is trusted: lengths and offsets are checked against the available
 * bytes.
 */
export class ArrowColumns {
	readonly #columns: readonly ArrowColumn[];
	readonly #source: ColumnSource;

	constructor(fields: readonly ArrowField[], layout: BatchLayout, source: ColumnSource) {
		let [node, buffer] = [0, 0];
		const nextBuffer = (): Region => {
			const region = layout.buffers[buffer++];
			if (region === undefined) throw new Error('a column has no buffers');
			return region;
		};
		const columnOf = (type: ArrowType): ArrowColumn => {
			const [length] = layout.nodes[node++] ?? [];
			if (length === undefined) throw new Error('a column has no length');
			const validity: Region = type.kind === 'null' ? [0, 0] : nextBuffer();
			const buffers = Array.from({ length: bufferCount[type.kind] }, nextBuffer);
			return { type, length, validity, buffers, children: childTypes(type).map(columnOf) };
		};
		this.#columns = fields.map(({ type }) => columnOf(type));
		this.#source = source;
	}

	/** Returns rows `from` to `to` (exclusive). */
	async values(from: number, to: number): Promise<readonly (readonly unknown[])[]> {
		const lists: unknown[][] = [];
		for (const column of this.#columns) lists.push(await this.#read(column, from, to));
		return lists;
	}

	/** Returns all values of the only column. */
	async all(): Promise<unknown[]> {
		const [column] = this.#columns;
		return column === undefined ? [] : this.#read(column, 0, column.length);
	}

	async #read(column: ArrowColumn, from: number, to: number): Promise<unknown[]> {
		if (from > to || to > column.length)
			throw new Error(`rows ${from} to ${to} requested from a column of ${column.length}`);
		const count = to - from;
		if (count === 0) return [];
		this.#source.take(8 * count);
		if (column.type.kind === 'null') return new Array(count).fill(null);
		const values = await this.#present(column, from, to);
		if (column.validity[1] > 0) {
			const first = Math.floor(from / 8);
			const bits = await this.#bytes(column.validity, first, Math.ceil(to / 8) - first);
			for (let i = 0; i < count; i++) if (!bitAt(bits, from + i - 8 * first)) values[i] = null;
		}
		if (column.type.kind === 'dictionary' && values.includes(undefined))
			throw new Error('an index is outside its dictionary');
		return values;
	}

	/**
	 * Returns values without applying the validity bits: missing values are arbitrary, or undefined if a dictionary has
	 * no such index.
	 */
	async #present(column: ArrowColumn, from: number, to: number): Promise<unknown[]> {
		const { type, buffers, children } = column;
		const count = to - from;
		const [first = noBytes, second = noBytes] = buffers;
		const [child] = children;
		const fixed = async (bytes: number) => viewOf(await this.#bytes(first, from * bytes, count * bytes));
		switch (type.kind) {
			case 'bool': {
				const begin = Math.floor(from / 8);
				const bits = await this.#bytes(first, begin, Math.ceil(to / 8) - begin);
				return Array.from({ length: count }, (_, i) => bitAt(bits, from + i - 8 * begin));
			}
			case 'int':
				return numbers(count, await fixed(type.bytes), intReader(type));
			case 'float':
				return numbers(count, await fixed(type.bytes), floatReaders[type.bytes]);
			case 'time': {
				const view = await fixed(type.bytes);
				return Array.from({ length: count }, (_, i) => timeText(view, i, type));
			}
			case 'decimal': {
				const view = await fixed(type.bytes);
				return Array.from({ length: count }, (_, i) => decimalAt(view, i * type.bytes, type));
			}
			case 'bytes': {
				this.#source.take(count * type.size);
				const bytes = bufferOf(await this.#bytes(first, from * type.size, count * type.size));
				return Array.from({ length: count }, (_, i) => bytes.toString('utf8', i * type.size, (i + 1) * type.size));
			}
			case 'text': {
				const ends = await this.#offsets(first, type.offsets, from, to);
				const [begin = 0] = ends;
				const length = (ends[count] ?? 0) - begin;
				this.#source.take(length);
				const bytes = bufferOf(await this.#bytes(second, begin, length));
				return Array.from({ length: count }, (_, i) =>
					bytes.toString('utf8', (ends[i] ?? 0) - begin, (ends[i + 1] ?? 0) - begin),
				);
			}
			case 'list':
			case 'map': {
				const ends = await this.#offsets(first, type.kind === 'list' ? type.offsets : 4, from, to);
				const [begin = 0] = ends;
				const items = child === undefined ? [] : await this.#read(child, begin, ends[count] ?? 0);
				return Array.from({ length: count }, (_, i) => {
					const own = items.slice((ends[i] ?? 0) - begin, (ends[i + 1] ?? 0) - begin);
					return type.kind === 'list' ? own : objectOfEntries(own as ({ key: unknown; value: unknown } | null)[]);
				});
			}
			case 'lists': {
				const items = child === undefined ? [] : await this.#read(child, from * type.size, to * type.size);
				return Array.from({ length: count }, (_, i) => items.slice(i * type.size, (i + 1) * type.size));
			}
			case 'struct': {
				const names = type.fields.map(({ name }) => name);
				const lists: unknown[][] = [];
				for (const inner of children) lists.push(await this.#read(inner, from, to));
				return Array.from({ length: count }, (_, i) => objectOf(names, lists, i));
			}
			case 'dictionary': {
				if (type.places.kind !== 'int') break;
				const places = numbers(count, await fixed(type.places.bytes), intReader(type.places));
				const values = await this.#source.dictionary(type.id, type.values);
				return places.map((place) => {
					const value = values[place];
					this.#source.take(sizeOf(value));
					return value;
				});
			}
		}
		return [];
	}

	/** Returns the start and end offsets of a range of values. Offsets must not decrease. */
	async #offsets(region: Region, bytes: 4 | 8, from: number, to: number): Promise<number[]> {
		const view = viewOf(await this.#bytes(region, from * bytes, (to - from + 1) * bytes));
		const ends = numbers(to - from + 1, view, bytes === 4 ? intReaders.signed[4] : intReaders.signed[8]);
		for (const [i, end] of ends.entries()) {
			if (end < (ends[i - 1] ?? 0)) throw new Error(`offsets decrease to ${end}`);
		}
		return ends;
	}

	async #bytes([offset, length]: Region, from: number, count: number): Promise<Uint8Array> {
		if (from + count > length) throw new Error(`bytes ${from} to ${from + count} requested from a buffer of ${length}`);
		return count === 0 ? new Uint8Array(0) : this.#source.bytes(offset + from, count);
	}
}

const noBytes: Region = [0, 0];

/** Number of buffers per column, not counting the validity bits. */
const bufferCount: Readonly<Record<ArrowType['kind'], number>> = {
	null: 0,
	bool: 1,
	int: 1,
	float: 1,
	decimal: 1,
	time: 1,
	text: 2,
	bytes: 1,
	list: 1,
	lists: 0,
	struct: 0,
	map: 1,
	dictionary: 1,
};

function childTypes(type: ArrowType): readonly ArrowType[] {
	switch (type.kind) {
		case 'list':
		case 'lists':
			return [type.item.type];
		case 'struct':
			return type.fields.map((field) => field.type);
		case 'map':
			return [
				{
					kind: 'struct',
					fields: [
						{ ...type.key, name: 'key' },
						{ ...type.value, name: 'value' },
					],
				},
			];
		default:
			return [];
	}
}

type NumberAt = (view: DataView, index: number) => number;

const intReaders: Readonly<Record<'signed' | 'unsigned', Readonly<Record<1 | 2 | 4 | 8, NumberAt>>>> = {
	signed: {
		1: (view, i) => view.getInt8(i),
		2: (view, i) => view.getInt16(2 * i, true),
		4: (view, i) => view.getInt32(4 * i, true),
		8: (view, i) => Number(view.getBigInt64(8 * i, true)),
	},
	unsigned: {
		1: (view, i) => view.getUint8(i),
		2: (view, i) => view.getUint16(2 * i, true),
		4: (view, i) => view.getUint32(4 * i, true),
		8: (view, i) => Number(view.getBigUint64(8 * i, true)),
	},
};

const intReader = ({ bytes, signed }: ArrowType & { kind: 'int' }): NumberAt =>
	intReaders[signed ? 'signed' : 'unsigned'][bytes];

const floatReaders: Readonly<Record<2 | 4 | 8, NumberAt>> = {
	2: (view, i) => halfFloat(view.getUint16(2 * i, true)),
	4: (view, i) => view.getFloat32(4 * i, true),
	8: (view, i) => view.getFloat64(8 * i, true),
};

/** Converts an IEEE 754 half-precision value. */
function halfFloat(bits: number): number {
	const sign = bits & 0x8000 ? -1 : 1;
	const exponent = (bits >> 10) & 0x1f;
	const fraction = bits & 0x3ff;
	if (exponent === 0) return sign * fraction * 2 ** -24;
	if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
	return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function numbers(count: number, view: DataView, at: NumberAt): number[] {
	const values = new Array<number>(count);
	for (let i = 0; i < count; i++) values[i] = at(view, i);
	return values;
}

function timeText(view: DataView, i: number, { bytes, perSecond }: ArrowType & { kind: 'time' }): string | null {
	const ms =
		perSecond === 'days' || bytes === 4
			? view.getInt32(4 * i, true) * 86_400_000
			: perSecond >= 1000
				? Number(view.getBigInt64(8 * i, true) / BigInt(perSecond / 1000))
				: Number(view.getBigInt64(8 * i, true)) * 1000;
	const time = new Date(ms);
	return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

function decimalAt(view: DataView, at: number, { bytes, scale }: ArrowType & { kind: 'decimal' }): number {
	let digits = bytes === 4 ? BigInt(view.getInt32(at, true)) : view.getBigInt64(at + bytes - 8, true);
	for (let word = at + bytes - 16; word >= at; word -= 8) digits = (digits << 64n) | view.getBigUint64(word, true);
	return Number(`${digits}e${-scale}`);
}

const bitAt = (bits: Uint8Array, i: number): boolean => (((bits[i >> 3] ?? 0) >> (i & 7)) & 1) === 1;

function objectOfEntries(entries: readonly ({ readonly key: unknown; readonly value: unknown } | null)[]): object {
	return Object.fromEntries(entries.flatMap((entry) => (entry === null ? [] : [[String(entry.key), entry.value]])));
}

/** Combines the values at the same index in several lists into an object. */
export function objectOf(names: readonly string[], lists: readonly (readonly unknown[])[], i: number): object {
	const object: Record<string, unknown> = {};
	for (const [column, name] of names.entries()) {
		const value = lists[column]?.[i];
		if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true });
		else object[name] = value;
	}
	return object;
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const bufferOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
