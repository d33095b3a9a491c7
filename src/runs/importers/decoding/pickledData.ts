import type { Pickle } from './pickle.ts';
import {
	PickleBytes,
	PickleDict,
	PickleList,
	PickleName,
	PickleNumbers,
	PickleObject,
	PickleTensor,
	PickleText,
	TorchStorage,
} from './pickleValues.ts';

const maxDepth = 64;
/** Larger tensors, and those with more than one dimension, are described instead of read. */
const maxElements = 4 << 20;

/** Reads a file of the archive; rejects with an Error whose message is a sentence fragment. */
type ReadStorage = (key: string) => Promise<Buffer>;

/** Converts pickled values to plain data: objects, lists, text and numbers. */
export class PickledData {
	readonly #pickle: Pickle;
	readonly #storage: ReadStorage;
	#left: number;

	/**
	 * @param maxBytes limit on the size of the result. Needed because a few bytes can refer to the same object many times.
	 */
	constructor(pickle: Pickle, storage: ReadStorage, maxBytes: number) {
		this.#pickle = pickle;
		this.#storage = storage;
		this.#left = maxBytes;
	}

	/** Fails with an Error whose message is a sentence fragment. */
	async of(value: unknown, depth = 0): Promise<unknown> {
		if (depth > maxDepth) throw new Error(`is nested more than ${maxDepth} levels deep`);
		if (typeof value === 'string') return this.#counted(value, value.length);
		if (value instanceof PickleText) {
			this.#count(value.length);
			return this.#pickle.text(value);
		}
		if (value instanceof PickleList) return this.#list(value, depth);
		if (value instanceof PickleDict) return this.#object(value, depth);
		if (value instanceof PickleTensor) return this.#tensor(value);
		if (value instanceof PickleBytes) return this.#counted('[bytes]', 8);
		if (value instanceof PickleObject) return this.#counted(`[${value.name}]`, value.name.length);
		if (value instanceof PickleName) return this.#counted(value.name, value.name.length);
		return this.#counted(typeof value === 'object' ? null : value, 8);
	}

	async #list({ items }: PickleList, depth: number): Promise<unknown[]> {
		const list: unknown[] = [];
		this.#count(8);
		for (const item of items) {
			if (item instanceof PickleNumbers) {
				this.#count(8 * item.count);
				this.#pickle.numbers(item, list);
			} else list.push(isPlain(item) ? this.#counted(item, 8) : await this.of(item, depth + 1));
		}
		return list;
	}

	async #object({ entries }: PickleDict, depth: number): Promise<Record<string, unknown>> {
		const fields: [string, unknown][] = [];
		this.#count(8);
		for (const [key, value] of entries) {
			const name = typeof key === 'string' ? key : String(await this.of(key, depth + 1));
			this.#count(name.length);
			fields.push([name, isPlain(value) ? this.#counted(value, 8) : await this.of(value, depth + 1)]);
		}
		return Object.fromEntries(fields);
	}

	async #tensor(tensor: PickleTensor): Promise<unknown> {
		const { type, elements, shape, strides, offset } = tensor;
		const described = `[${type ?? 'tensor'} ${shape.join(' × ')}]`;
		const count = shape.length === 0 ? 1 : (shape[0] as number);
		const consecutive = strides === null || shape.length === 0 || strides[0] === 1 || count < 2;
		const bytes = elementBytes[type ?? ''];
		if (elements === null || bytes === undefined || shape.length > 1 || count > maxElements || !consecutive) {
			return this.#counted(described, described.length);
		}
		this.#count(8 * count);
		const all = elements instanceof TorchStorage ? await this.#storage(elements.key) : this.#bytesOf(elements);
		const own = all.subarray(offset * bytes, (offset + count) * bytes);
		if (own.length < count * bytes) throw new Error('contains a tensor without all of its elements');
		const numbers = elementsIn(own, type as string, bytes);
		return shape.length === 0 ? numbers[0] : numbers;
	}

	#bytesOf({ of }: PickleBytes): Buffer {
		if (of instanceof Uint8Array) return Buffer.from(of.buffer, of.byteOffset, of.length);
		return Buffer.from(typeof of === 'string' ? of : this.#pickle.text(of), 'latin1');
	}

	#counted<T>(value: T, bytes: number): T {
		this.#count(bytes);
		return value;
	}

	#count(bytes: number): void {
		this.#left -= bytes;
		if (this.#left < 0) throw new Error('is too large');
	}
}

const isPlain = (value: unknown) => typeof value === 'number' || typeof value === 'boolean' || value === null;

const elementBytes: Readonly<Record<string, number>> = {
	float64: 8,
	float32: 4,
	float16: 2,
	bfloat16: 2,
	int64: 8,
	int32: 4,
	int16: 2,
	int8: 1,
	uint8: 1,
	bool: 1,
};

function elementsIn(bytes: Buffer, type: string, size: number): (number | boolean)[] {
	const element = (at: number): number | boolean => {
		switch (type) {
			case 'float64':
				return bytes.readDoubleLE(at);
			case 'float32':
				return bytes.readFloatLE(at);
			case 'float16':
				return halfAt(bytes, at);
			case 'bfloat16':
				return bfloat16At(bytes, at);
			case 'int64':
				return Number(bytes.readBigInt64LE(at));
			case 'bool':
				return bytes[at] !== 0;
			case 'uint8':
				return bytes.readUInt8(at);
			default:
				return bytes.readIntLE(at, size);
		}
	};
	return Array.from({ length: Math.floor(bytes.length / size) }, (_, i) => element(i * size));
}

function bfloat16At(bytes: Buffer, at: number): number {
	const single = Buffer.alloc(4);
	bytes.copy(single, 2, at, at + 2);
	return single.readFloatLE(0);
}

/** IEEE 754 binary16. */
function halfAt(bytes: Buffer, at: number): number {
	const bits = bytes.readUInt16LE(at);
	const sign = bits & 0x8000 ? -1 : 1;
	const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
	if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
	if (exponent === 0) return sign * fraction * 2 ** -24;
	return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
