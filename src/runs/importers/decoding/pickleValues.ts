/* Values in a pickle, before they are converted to plain data. None of them refers to code. */

/** Text that stays encoded until it is needed: `length` bytes of UTF-8 at `start`. */
export class PickleText {
	readonly start: number;
	readonly length: number;

	constructor(start: number, length: number) {
		this.start = start;
		this.length = length;
	}
}

/** Numbers that stay encoded until they are needed: `count` opcodes from `start`. */
export class PickleNumbers {
	readonly start: number;
	readonly count: number;

	constructor(start: number, count: number) {
		this.start = start;
		this.count = count;
	}
}

/** A list, tuple or set. Entries can be `PickleNumbers`, which stand for several entries. */
export class PickleList {
	readonly items: unknown[];

	constructor(items: unknown[] = []) {
		this.items = items;
	}
}

export class PickleDict {
	readonly entries: [key: unknown, value: unknown][] = [];

	get(name: string): unknown {
		return this.entries.find(([key]) => key === name)?.[1];
	}
}

export class PickleBytes {
	/** The bytes, or text with one character per byte. */
	readonly of: string | PickleText | Uint8Array;

	constructor(of: string | PickleText | Uint8Array) {
		this.of = of;
	}
}

/** Name of a class or function, which is never looked up. */
export class PickleName {
	readonly name: string;

	constructor(name: string) {
		this.name = name;
	}
}

/** An object of an unsupported class. Only the name of the class is kept. */
export class PickleObject {
	readonly name: string;

	constructor(name: string) {
		this.name = name;
	}
}

/** The file in the archive that contains the elements of a tensor. */
export class TorchStorage {
	/** Name of torch's storage class, such as "FloatStorage". */
	readonly type: string;
	readonly key: string;

	constructor(type: string, key: string) {
		this.type = type;
		this.key = key;
	}
}

/** A tensor, or a NumPy array if its elements are `PickleBytes`. */
export class PickleTensor {
	/** Element type, such as "float32"; null if it is unknown. */
	type: string | null;
	elements: TorchStorage | PickleBytes | null;
	/** Index of the first element. */
	readonly offset: number;
	shape: readonly number[];
	readonly strides: readonly number[] | null;

	constructor(
		type: string | null,
		elements: TorchStorage | PickleBytes | null,
		offset: number,
		shape: readonly number[],
		strides: readonly number[] | null,
	) {
		this.type = type;
		this.elements = elements;
		this.offset = offset;
		this.shape = shape;
		this.strides = strides;
	}
}

/** A NumPy element type: a code such as "f8", and its byte order. */
export class NumpyType {
	readonly code: string;
	bigEndian = false;

	constructor(code: string) {
		this.code = code;
	}
}
