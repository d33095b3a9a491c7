import { Failure } from '../../base/failure.ts';
import type { ParameterSpec } from '../learner.ts';
import { elementCount } from '../model/parameters.ts';

/** Reads and writes the safetensors format (github.com/huggingface/safetensors), float32 only, over bytes. */

export interface StoredTensor {
	readonly shape: readonly number[];
	readonly data: Float32Array;
}

export interface SafetensorsFile {
	readonly metadata: Readonly<Record<string, string>>;
	readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/** The format's own limit on its header. */
const largestHeader = 100_000_000;

export function encodeSafetensors(
	tensors: ReadonlyMap<string, StoredTensor>,
	metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
	const header: Record<string, unknown> = { __metadata__: metadata };
	let offset = 0;
	for (const [name, { shape, data }] of tensors) {
		header[name] = { dtype: 'F32', shape, data_offsets: [offset, offset + data.byteLength] };
		offset += data.byteLength;
	}
	const text = new TextEncoder().encode(JSON.stringify(header));
	// Padded with spaces so that the data are aligned.
	const headerLength = Math.ceil(text.length / 8) * 8;
	const file = new Uint8Array(8 + headerLength + offset);
	new DataView(file.buffer).setBigUint64(0, BigInt(headerLength), true);
	file.fill(0x20, 8, 8 + headerLength);
	file.set(text, 8);
	let at = 8 + headerLength;
	for (const { data } of tensors.values()) {
		file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
		at += data.byteLength;
	}
	return file;
}

const repair = 'Resume from another checkpoint.';

function corrupt(file: string, what: string): Failure {
	return new Failure('corrupt', `${file} is not a whole safetensors file: ${what}.`, repair);
}

/** Throws `corrupt`, naming `file` and the tensor, unless the bytes are a complete file of float32 tensors. */
export function decodeSafetensors(bytes: Uint8Array, file: string): SafetensorsFile {
	if (bytes.length < 8) throw corrupt(file, `it has ${bytes.length} bytes`);
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const headerLength = Number(view.getBigUint64(0, true));
	if (headerLength > largestHeader || 8 + headerLength > bytes.length) {
		throw corrupt(file, `its header of ${headerLength} bytes is not all there`);
	}
	const header = parseHeader(bytes.subarray(8, 8 + headerLength), file);
	const data = bytes.subarray(8 + headerLength);
	const tensors = new Map<string, StoredTensor>();
	const metadata: Record<string, string> = {};
	for (const [name, value] of Object.entries(header)) {
		if (name === '__metadata__') {
			for (const [key, item] of Object.entries(value as object)) if (typeof item === 'string') metadata[key] = item;
		} else {
			tensors.set(name, readTensor(data, name, value, file));
		}
	}
	return { metadata, tensors };
}

function parseHeader(bytes: Uint8Array, file: string): Record<string, unknown> {
	try {
		const header: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
		if (typeof header === 'object' && header !== null && !Array.isArray(header))
			return header as Record<string, unknown>;
	} catch {
		// Reported below, like every other header that is no object.
	}
	throw corrupt(file, 'its header is not a JSON object');
}

function isCount(x: unknown): x is number {
	return Number.isSafeInteger(x) && (x as number) >= 0;
}

function readTensor(data: Uint8Array, name: string, value: unknown, file: string): StoredTensor {
	const { dtype, shape, data_offsets: offsets } = (value ?? {}) as Record<string, unknown>;
	if (dtype !== 'F32') throw corrupt(file, `tensor ${name} has type ${String(dtype)} instead of F32`);
	if (!Array.isArray(shape) || !shape.every(isCount)) throw corrupt(file, `tensor ${name} has no proper shape`);
	if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
		throw corrupt(file, `tensor ${name} has no proper offsets`);
	}
	const [start, end] = offsets as [number, number];
	if (end - start !== 4 * elementCount(shape)) throw corrupt(file, `tensor ${name} does not fill its shape`);
	if (end > data.length) throw corrupt(file, `tensor ${name} ends after the end of the file`);
	return { shape, data: new Float32Array(data.slice(start, end).buffer) };
}

/** A flat vector as one named tensor per parameter. */
export function encodeParameters(
	specs: readonly ParameterSpec[],
	flat: Float32Array,
	metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
	const tensors = new Map<string, StoredTensor>();
	let offset = 0;
	for (const { name, shape } of specs) {
		const end = offset + elementCount(shape);
		tensors.set(name, { shape, data: flat.subarray(offset, end) });
		offset = end;
	}
	return encodeSafetensors(tensors, metadata);
}

/** The inverse. Throws `corrupt` for a damaged file and `mismatch`, naming file and tensor, for that of another model. */
export function decodeParameters(
	bytes: Uint8Array,
	file: string,
	specs: readonly ParameterSpec[],
): { readonly parameters: Float32Array; readonly metadata: Readonly<Record<string, string>> } {
	const { tensors, metadata } = decodeSafetensors(bytes, file);
	const mismatch = (what: string) =>
		new Failure(
			'mismatch',
			`${file} belongs to another model: ${what}.`,
			'Use a checkpoint of a model of the same sizes.',
		);
	const parameters = new Float32Array(specs.reduce((n, spec) => n + elementCount(spec.shape), 0));
	let offset = 0;
	for (const { name, shape } of specs) {
		const tensor = tensors.get(name);
		if (tensor === undefined) throw mismatch(`it has no tensor ${name}`);
		if (tensor.shape.length !== shape.length || tensor.shape.some((d, i) => d !== shape[i])) {
			throw mismatch(`tensor ${name} has shape [${tensor.shape.join(', ')}] instead of [${shape.join(', ')}]`);
		}
		parameters.set(tensor.data, offset);
		offset += tensor.data.length;
	}
	const known = new Set(specs.map((spec) => spec.name));
	for (const name of tensors.keys()) if (!known.has(name)) throw mismatch(`it has a tensor ${name} too many`);
	return { parameters, metadata };
}
