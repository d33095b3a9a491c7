import { read } from 'node:fs';
import { promisify } from 'node:util';
import { ZipArchive } from '../../../files/zipArchive.ts';
import type { TableShape } from './decodingMessages.ts';
import { Pickle } from './pickle.ts';
import { PickledData } from './pickledData.ts';
import { PickleDict, PickleList, PickleNumbers, PickleTensor } from './pickleValues.ts';
import { answerBytes, largestRow, sizeOf } from './rowLimits.ts';

const readAt = promisify(read);

/** Largest pickle to read. Tensors are stored next to it. */
const largestPickle = 512 << 20;
/** Decoded storages to keep, in bytes: all tensors of a file can share one. */
const keptStorage = 64 << 20;

/** Maximum number of values stored next to the list, limited because they are added to each row. */
const maxBeside = 100;

interface Opened {
	readonly pickle: Pickle;
	readonly items: readonly unknown[];
	readonly columns: readonly string[];
	/** Numbers and short strings stored next to the list. */
	readonly beside: Readonly<Record<string, unknown>>;
}

/**
 * A list in a file written by `torch.save`: a zip archive with a pickle and one file per tensor storage
 * (torch/serialization.py). Each entry of the list is a row, extended with the plain values next to the list. Rows can
 * also be stored by column (`tableIn`). Runs in the decoding thread.
 */
export class TorchRows {
	readonly #source: { readonly size: number; read(offset: number, length: number): Promise<Buffer> };
	readonly #list: string;
	#opened: Promise<Opened> | null = null;
	#archive: { readonly zip: ZipArchive; readonly root: string } | null = null;
	readonly #storages = new Map<string, Buffer>();
	#stored = 0;

	constructor(descriptor: number, size: number, list: string) {
		this.#list = list;
		this.#source = {
			size,
			async read(offset, length) {
				const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
				let filled = 0;
				while (filled < bytes.length) {
					const { bytesRead } = await readAt(descriptor, bytes, filled, bytes.length - filled, offset + filled);
					if (bytesRead === 0) throw new Error('the file is shorter than before');
					filled += bytesRead;
				}
				return bytes;
			},
		};
	}

	async shape(): Promise<TableShape> {
		const { items, columns } = await this.#open();
		return { groups: [items.length], rows: items.length, columns };
	}

	/** Returns rows `from` to `to` (exclusive); fewer if they are large. A row that cannot be read is an `Error`. */
	async rows(from: number, to: number): Promise<readonly unknown[]> {
		const { pickle, items, beside } = await this.#open();
		const rows: unknown[] = [];
		let size = 0;
		for (const item of items.slice(from, to)) {
			if (size > answerBytes) break;
			const data = new PickledData(pickle, (key) => this.#storage(key), largestRow);
			try {
				const row = await data.of(item);
				rows.push(typeof row === 'object' && row !== null && !Array.isArray(row) ? { ...beside, ...row } : row);
				size += sizeOf(row);
			} catch (error) {
				rows.push(error instanceof Error ? new Error(error.message) : new Error(String(error)));
			}
		}
		return rows;
	}

	#open(): Promise<Opened> {
		this.#opened ??= this.#read();
		return this.#opened;
	}

	async #read(): Promise<Opened> {
		const zip = await ZipArchive.open(this.#source);
		if (zip.damage !== null) throw new Error(`the archive is damaged: ${zip.damage}`);
		const member = zip.members.find(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
		if (member === undefined) throw new Error('it has no data.pkl');
		this.#archive = { zip, root: member.name.slice(0, -'data.pkl'.length) };
		const pickle = new Pickle(await zip.read(member, largestPickle));
		const saved = pickle.read();
		const data = new PickledData(pickle, (key) => this.#storage(key), largestRow);
		let list: PickleList | null = null;
		for (const name of saved instanceof PickleDict ? this.#list.split('|') : []) {
			list ??= await listIn(saved as PickleDict, name, data);
		}
		if (!(saved instanceof PickleDict) || list === null) throw new Error(`it has no list "${this.#list}"`);
		const names = saved.entries
			.flatMap(([key, value]) =>
				typeof key === 'string' && (typeof value === 'number' || typeof value === 'string')
					? [[key, value] as const]
					: [],
			)
			.slice(0, maxBeside);
		const [first] = list.items;
		const columns = first instanceof PickleDict ? first.entries.map(([key]) => String(key)) : [];
		return { pickle, items: list.items, columns, beside: Object.fromEntries(names) };
	}

	async #storage(key: string): Promise<Buffer> {
		const known = this.#storages.get(key);
		if (known !== undefined) return known;
		const { zip, root } = this.#archive ?? { zip: null, root: '' };
		const member = zip?.members.find(({ name }) => name === `${root}data/${key}`);
		if (zip === null || member === undefined) throw new Error('contains a tensor that is not in the archive');
		const bytes = await zip.read(member, keptStorage);
		this.#stored += bytes.length;
		if (this.#stored > keptStorage) {
			this.#storages.clear();
			this.#stored = bytes.length;
		}
		this.#storages.set(key, bytes);
		return bytes;
	}
}

/**
 * Returns the list with the given name, or the rows of the columns with a name like "table.column"; null if there is
 * none.
 */
async function listIn(saved: PickleDict, name: string, data: PickledData): Promise<PickleList | null> {
	const [key, column] = name.split('.') as [string, string?];
	const value = saved.get(key);
	if (column === undefined) return value instanceof PickleList ? value : null;
	return value instanceof PickleDict ? tableIn(value, column, data) : null;
}

/**
 * Returns the rows of a dictionary of columns, using only columns with as many entries as the column `counted`; null
 * if that column is missing. A column is a list, such as one with a tensor per row, or a tensor.
 */
async function tableIn(table: PickleDict, counted: string, data: PickledData): Promise<PickleList | null> {
	const columns: [string, readonly unknown[]][] = [];
	for (const [key, value] of table.entries) {
		const entries = typeof key === 'string' ? await entriesOf(value, data) : null;
		if (entries !== null) columns.push([key as string, entries]);
	}
	const rows = columns.find(([name]) => name === counted)?.[1].length;
	if (rows === undefined) return null;
	const shared = columns.filter(([, entries]) => entries.length === rows).slice(0, maxBeside);
	return new PickleList(
		Array.from({ length: rows }, (_, row) => {
			const dict = new PickleDict();
			for (const [name, entries] of shared) dict.entries.push([name, entries[row]]);
			return dict;
		}),
	);
}

/** Returns the entries of a column. Runs of numbers are stored as one entry of a list, so they are read first. */
async function entriesOf(value: unknown, data: PickledData): Promise<readonly unknown[] | null> {
	if (value instanceof PickleList && !value.items.some((item) => item instanceof PickleNumbers)) return value.items;
	if (!(value instanceof PickleList) && !(value instanceof PickleTensor)) return null;
	const read = await data.of(value);
	return Array.isArray(read) ? read : null;
}
