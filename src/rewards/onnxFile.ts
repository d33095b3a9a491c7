import { readSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { onnxLimits, tableBytes } from '../base/decodingLimits.ts';
import { Failure } from '../base/failure.ts';
import { openNamed } from '../files/safeFile.ts';

/**
 * Checks an untrusted ONNX file before onnxruntime opens it: which files it refers to, how much memory its constants
 * require, and how deeply its graphs are nested. Fields in onnx.proto are identified by number.
 */

/** Messages that can contain tensors, keyed by the field that contains them. */
const messages = {
	model: { 7: 'graph', 20: 'training', 25: 'function' },
	training: { 1: 'graph', 2: 'graph' },
	function: { 7: 'node', 11: 'attribute' },
	graph: { 1: 'node', 5: 'tensor', 15: 'sparse' },
	node: { 5: 'attribute' },
	attribute: { 5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph', 22: 'sparse', 23: 'sparse' },
	sparse: { 1: 'tensor', 2: 'tensor' },
} as const satisfies Record<string, Readonly<Record<number, string>>>;
type Message = keyof typeof messages;

/** Bytes per element, by TensorProto.DataType. Strings and unknown types count as one byte. */
const elementBytes: Readonly<Record<number, number>> = {
	...{ 1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 14: 8, 15: 16, 16: 2 },
	...{ 21: 0.5, 22: 0.5, 23: 0.5 },
};
/** TensorProto fields that contain elements. */
const dataFields = new Set([4, 5, 6, 7, 9, 10, 11]);
const rawField = 9;

interface ExternalData {
	readonly tensor: string;
	readonly location: string;
	readonly offset: number;
	readonly length: number;
}

/**
 * Fails with `invalid` if the file is not an ONNX model or would cause onnxruntime to read files outside the model's
 * folder, allocate far more memory than the file contains, or recurse endlessly. Fails with `missing` if its external
 * data does not exist.
 */
export async function checkOnnxFile(path: string): Promise<void> {
	const handle = await openNamed(path, `The model ${path}`);
	try {
		const { size } = await handle.stat();
		if (size > onnxLimits.bytes) {
			throw new Failure(
				'unsupported',
				`Model ${path} is ${size} bytes, which exceeds the maximum size of an ONNX file.`,
			);
		}
		const walk = new OnnxWalk(handle.fd, size, path);
		walk.model();
		checkFunctions(path, walk.functions, walk.calls);
		await checkExternal(path, walk.external);
	} finally {
		await handle.close();
	}
}

/**
 * Checks the model's functions. A function is inlined at every call, so a few functions that each call another one
 * twice can expand to any number of nodes, and a recursive function never stops expanding.
 */
function checkFunctions(path: string, functions: ReadonlyMap<string, Calls>, calls: Calls): void {
	const sizes = new Map<string, number>();
	const sizeOf = (of: Calls, depth: number): number => {
		if (depth > onnxLimits.depth) {
			throw refused(path, `its functions are nested more than ${onnxLimits.depth} calls deep`);
		}
		let sum = 0;
		for (const [name, count] of of) {
			const inner = functions.get(name);
			if (inner !== undefined && !sizes.has(name)) sizes.set(name, sizeOf(inner, depth + 1));
			sum += count * (sizes.get(name) ?? 1);
		}
		return sum;
	};
	if (sizeOf(calls, 0) > onnxLimits.fields) throw refused(path, 'its functions expand to too many nodes');
}

/** Number of uses of each operator and function, by name. */
type Calls = Map<string, number>;

async function checkExternal(path: string, external: readonly ExternalData[]): Promise<void> {
	const folder = await realpath(dirname(path));
	const sizes = new Map<string, number>();
	let taken = 0;
	for (const { tensor, location, offset, length } of external) {
		let size = sizes.get(location);
		if (size === undefined) {
			size = await sizeInside(path, folder, location);
			sizes.set(location, size);
		}
		if (offset + length > size) {
			throw refused(path, `tensor ${shown(tensor)} extends past the end of ${shown(location)}`);
		}
		taken += length;
	}
	// Overlapping tensors can require more memory than the total size of the files.
	const max = tableBytes(0) + [...sizes.values()].reduce((sum, size) => sum + size, 0);
	if (taken > max) throw refused(path, 'its tensors overlap in the external data');
}

/**
 * Returns the size of an external data file. The file must be inside the model's folder, even after following links.
 */
async function sizeInside(path: string, folder: string, location: string): Promise<number> {
	const outside = () => refused(path, `its external data ${shown(location)} is outside its folder`);
	const parts = location.split(/[\\/]/);
	if (location === '' || location.includes('\0') || parts.some((part) => part === '' || part === '..')) throw outside();
	const file = join(folder, location);
	const real = await realpath(file).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the external data ${shown(location)} of model ${path}`);
	});
	if (!real.startsWith(folder + sep)) throw outside();
	const found = await stat(real);
	if (!found.isFile()) throw refused(path, `its external data ${shown(location)} is not a regular file`);
	return found.size;
}

const shown = (text: string) => JSON.stringify(text.length <= 200 ? text : `${text.slice(0, 200)}...`);

function refused(path: string, why: string): Failure {
	return new Failure(
		'invalid',
		`Cannot load model ${path}: ${why}.`,
		'Export the model again, or download it again from its publisher.',
	);
}

/** Walks the fields of the file, reading only what it needs and never the tensor data. */
class OnnxWalk {
	readonly external: ExternalData[] = [];
	readonly functions = new Map<string, Calls>();
	/** Calls outside of functions. */
	readonly calls: Calls = new Map();
	#caller = this.calls;
	readonly #file: number;
	readonly #size: number;
	readonly #path: string;
	readonly #window = Buffer.alloc(1 << 16);
	#windowAt = 0;
	#windowSize = 0;
	#at = 0;
	#fields = 0;
	#dense = 0;

	constructor(file: number, size: number, path: string) {
		this.#file = file;
		this.#size = size;
		this.#path = path;
	}

	model(): void {
		let graphs = 0;
		for (const { field, end } of this.#fieldsTo(this.#size)) {
			if (field === 7 && end !== null) graphs++;
			this.#inside('model', field, end, 0);
		}
		if (graphs !== 1) throw refused(this.#path, 'it is not an ONNX model');
	}

	#inside(message: Message, field: number, end: number | null, depth: number): void {
		const inner = (messages[message] as Readonly<Record<number, Message | 'tensor'>>)[field];
		if (inner === undefined || end === null) return;
		if (inner === 'tensor') {
			this.#tensor(end);
			return;
		}
		if (depth > 4 * onnxLimits.depth) {
			throw refused(this.#path, `its graphs are nested more than ${onnxLimits.depth} levels deep`);
		}
		let elements = 1;
		if (inner === 'function') this.#caller = new Map();
		for (const one of this.#fieldsTo(end)) {
			if (inner === 'sparse' && one.field === 3) elements *= this.#dims(one);
			if (inner === 'function' && one.field === 1 && one.end !== null) {
				this.functions.set(this.#text(one.end), this.#caller);
			}
			if (inner === 'node' && one.field === 4 && one.end !== null) {
				const name = this.#text(one.end);
				this.#caller.set(name, (this.#caller.get(name) ?? 0) + 1);
			}
			this.#inside(inner, one.field, one.end, depth + 1);
		}
		if (inner === 'function') this.#caller = this.calls;
		// onnxruntime converts a sparse tensor to a dense one with up to 16 bytes per element.
		if (inner === 'sparse') this.#dense += elements * 16;
		if (this.#dense > tableBytes(this.#size)) throw refused(this.#path, 'its sparse tensors are too large');
	}

	#tensor(end: number): void {
		let elements = 1;
		let type = 0;
		let name = '';
		let held = 0;
		let raw = false;
		let outside = false;
		const entries = new Map<string, string>();
		for (const one of this.#fieldsTo(end)) {
			if (one.field === 1) elements *= this.#dims(one);
			else if (one.field === 2) type = one.value;
			else if (one.field === 8 && one.end !== null) name = this.#text(one.end);
			else if (one.field === 14) outside = one.value === 1;
			else if (one.field === 13 && one.end !== null) {
				let key = '';
				let value = '';
				for (const { field, end: to } of this.#fieldsTo(one.end)) {
					if (field === 1 && to !== null) key = this.#text(to);
					if (field === 2 && to !== null) value = this.#text(to);
				}
				entries.set(key, value);
			} else if (dataFields.has(one.field)) {
				raw ||= one.field === rawField;
				held += one.end === null ? 8 : one.end - this.#at;
				// An empty string counts as an element.
				if (one.field === 6) held++;
			}
		}
		const bytes = Math.ceil(elements * (elementBytes[type] ?? 1));
		if (outside || entries.size > 0) {
			const number = (key: string) => Number(entries.get(key) ?? 0);
			const [offset, length] = [number('offset'), entries.has('length') ? number('length') : bytes];
			if (![offset, length].every((n) => Number.isSafeInteger(n) && n >= 0) || length < bytes) {
				throw refused(this.#path, `the external data of tensor ${shown(name)} does not match its shape`);
			}
			this.external.push({ tensor: name, location: entries.get('location') ?? '', offset, length });
		} else if (raw ? bytes > held : elements > 2 * held) {
			throw refused(this.#path, `tensor ${shown(name)} is larger than its data`);
		}
	}

	/** Returns the product of one or more dimensions. */
	#dims({ end, value }: Field): number {
		if (end === null) return this.#dim(value);
		let product = 1;
		while (this.#at < end) product *= this.#dim(this.#varint());
		return product;
	}

	#dim(size: number): number {
		if (Number.isSafeInteger(size)) return size;
		throw refused(this.#path, 'a tensor has an invalid size');
	}

	/** Yields the fields up to a position. Unread contents of a field are skipped when the next field is requested. */
	*#fieldsTo(end: number): Generator<Field> {
		while (this.#at < end) {
			if (++this.#fields > onnxLimits.fields) throw refused(this.#path, 'it has too many fields');
			const tag = this.#varint();
			const field = Math.floor(tag / 8);
			const kind = tag % 8;
			if (kind === 0) {
				yield { field, end: null, value: this.#varint() };
			} else if (kind === 1 || kind === 5) {
				this.#at += kind === 1 ? 8 : 4;
				yield { field, end: null, value: 0 };
			} else {
				const length = kind === 2 ? this.#varint() : Number.NaN;
				const to = this.#at + length;
				if (!(to <= end)) throw refused(this.#path, 'it is not an ONNX model, or it is truncated');
				yield { field, end: to, value: 0 };
				this.#at = to;
			}
		}
		if (this.#at !== end) throw refused(this.#path, 'it is not an ONNX model, or it is truncated');
	}

	/** Reads an unsigned integer. Values above 2^53 are not exact. */
	#varint(): number {
		let value = 0;
		for (let i = 0, scale = 1; i < 10; i++, scale *= 128) {
			const byte = this.#byte();
			value += (byte & 0x7f) * scale;
			if (byte < 0x80) return value;
		}
		throw refused(this.#path, 'it is not an ONNX model');
	}

	#byte(): number {
		let place = this.#at - this.#windowAt;
		if (place < 0 || place >= this.#windowSize) {
			this.#windowAt = this.#at;
			this.#windowSize = readSync(this.#file, this.#window, 0, this.#window.length, this.#at);
			if (this.#windowSize === 0) throw refused(this.#path, 'it is not an ONNX model, or it is truncated');
			place = 0;
		}
		this.#at++;
		return this.#window[place] as number;
	}

	#text(end: number): string {
		const bytes = Buffer.alloc(Math.min(end - this.#at, 4096));
		for (let i = 0; i < bytes.length; i++) bytes[i] = this.#byte();
		if (this.#at < end) throw refused(this.#path, 'it contains a name with more than 4096 bytes');
		return bytes.toString('utf8');
	}
}

interface Field {
	readonly field: number;
	/** End position of the content, which starts at the current position. null for a numeric field. */
	readonly end: number | null;
	readonly value: number;
}
