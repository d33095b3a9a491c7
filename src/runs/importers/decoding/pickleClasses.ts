import {
	NumpyType,
	PickleBytes,
	PickleDict,
	PickleList,
	PickleName,
	PickleObject,
	PickleTensor,
	PickleText,
	TorchStorage,
} from './pickleValues.ts';

/*
 * The classes and functions whose results are understood: containers, tensors (torch/_utils.py) and arrays
 * (numpy/_core/multiarray). Any other class or function is represented only by its name.
 */

const storages: Readonly<Record<string, string>> = {
	FloatStorage: 'float32',
	DoubleStorage: 'float64',
	HalfStorage: 'float16',
	BFloat16Storage: 'bfloat16',
	LongStorage: 'int64',
	IntStorage: 'int32',
	ShortStorage: 'int16',
	CharStorage: 'int8',
	ByteStorage: 'uint8',
	BoolStorage: 'bool',
};

const numpyTypes: Readonly<Record<string, string>> = {
	f2: 'float16',
	f4: 'float32',
	f8: 'float64',
	i1: 'int8',
	i2: 'int16',
	i4: 'int32',
	i8: 'int64',
	u1: 'uint8',
	b1: 'bool',
};

/** Returns the numbers in a tuple of dimensions or strides, or null if it contains anything else. */
function integersIn(value: unknown): number[] | null {
	if (!(value instanceof PickleList)) return null;
	return value.items.every((item) => Number.isSafeInteger(item) && (item as number) >= 0)
		? (value.items as number[])
		: null;
}

function tensor([storage, offset, size, stride, , , type]: readonly unknown[]): unknown {
	const [shape, strides] = [integersIn(size), integersIn(stride)];
	if (!(storage instanceof TorchStorage) || shape === null || strides === null || typeof offset !== 'number') {
		return new PickleObject('torch.Tensor');
	}
	const known = type instanceof PickleName ? type.name.replace(/^torch\./, '') : (storages[storage.type] ?? null);
	return new PickleTensor(known, storage, offset, shape, strides);
}

function arrayOf(type: unknown, bytes: unknown, shape: readonly number[]): unknown {
	const known = type instanceof NumpyType && !type.bigEndian ? (numpyTypes[type.code] ?? null) : null;
	return new PickleTensor(known, bytes instanceof PickleBytes ? bytes : null, 0, shape, null);
}

/** Returns the dictionary for a mapping that was pickled as a list of pairs. */
function dictOf(pairs: unknown): PickleDict {
	const dict = new PickleDict();
	if (!(pairs instanceof PickleList)) return dict;
	for (const pair of pairs.items) {
		if (pair instanceof PickleList && pair.items.length === 2) dict.entries.push([pair.items[0], pair.items[1]]);
	}
	return dict;
}

const isText = (value: unknown): value is string | PickleText =>
	typeof value === 'string' || value instanceof PickleText;

const results: Readonly<Record<string, (args: readonly unknown[]) => unknown>> = {
	'collections.OrderedDict': ([pairs]) => dictOf(pairs),
	// The first argument is the default factory.
	'collections.defaultdict': ([, pairs]) => dictOf(pairs),
	'builtins.list': ([items]) => (items instanceof PickleList ? items : new PickleList()),
	'builtins.set': ([items]) => (items instanceof PickleList ? items : new PickleList()),
	'builtins.frozenset': ([items]) => (items instanceof PickleList ? items : new PickleList()),
	'builtins.bytearray': ([bytes]) => (bytes instanceof PickleBytes ? bytes : new PickleBytes('')),
	'torch.Size': ([size]) => (size instanceof PickleList ? size : new PickleList()),
	'torch._utils._rebuild_tensor_v2': tensor,
	'torch._utils._rebuild_tensor_v3': tensor,
	'torch._utils._rebuild_parameter': ([data]) => data,
	'_codecs.encode': ([text, encoding]) =>
		isText(text) && encoding === 'latin1' ? new PickleBytes(text) : new PickleObject('bytes'),
	'numpy.dtype': ([code]) => (typeof code === 'string' ? new NumpyType(code) : new PickleObject('numpy.dtype')),
	'numpy.core.multiarray._reconstruct': () => new PickleTensor(null, null, 0, [], null),
	'numpy.core.multiarray.scalar': ([type, bytes]) => arrayOf(type, bytes, []),
};

/** Module names that differ between versions of Python 2, Python 3 and NumPy. */
const plainName = (name: string) =>
	name.replace(/^__builtin__\./, 'builtins.').replace(/^numpy\._core\./, 'numpy.core.');

/** Returns what a call to a class or function would return, without calling it. */
export function resultOf(called: unknown, args: unknown): unknown {
	if (!(called instanceof PickleName)) return new PickleObject('object');
	const name = plainName(called.name);
	const known = Object.hasOwn(results, name) ? results[name] : undefined;
	return known === undefined ? new PickleObject(called.name) : known(args instanceof PickleList ? args.items : []);
}

/** Applies the state that a pickle sets after creating an object. States of other objects are ignored. */
export function setState(object: unknown, state: unknown): void {
	if (!(state instanceof PickleList)) return;
	if (object instanceof NumpyType) object.bigEndian = state.items[1] === '>';
	if (!(object instanceof PickleTensor) || object.elements !== null) return;
	// Version, shape, element type, whether the array is in column-major order, and the bytes.
	const [, size, type, byColumn, bytes] = state.items;
	const read = arrayOf(type, bytes, integersIn(size) ?? []);
	if (!(read instanceof PickleTensor) || byColumn === true) return;
	object.type = read.type;
	object.shape = read.shape;
	object.elements = read.elements;
}

/** Returns the storage that a persistent id refers to: ("storage", class, key, device, elements). */
export function storageOf(id: unknown): unknown {
	const [kind, type, key] = id instanceof PickleList ? id.items : [];
	if (kind !== 'storage' || !(type instanceof PickleName) || typeof key !== 'string') {
		return new PickleObject('a persistent object');
	}
	return new TorchStorage(type.name.split('.').at(-1) ?? '', key);
}
