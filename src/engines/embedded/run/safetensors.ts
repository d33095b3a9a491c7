import { parseBoundedJson } from '../../../base/boundedJson.ts';
import { safetensorsHeader } from '../../../base/decodingLimits.ts';
import { Failure } from '../../../base/failure.ts';

/** A named row-major f32 tensor. */
export interface NamedTensor {
	readonly name: string;
	readonly shape: readonly number[];
	readonly data: Float32Array;
}

/**
 * Encodes tensors in the safetensors file format (huggingface.co/docs/safetensors): u64 little-endian header length,
 * JSON header padded with spaces to a multiple of 8 bytes, then the tensors without gaps. F32 only.
 */
export function encodeSafetensors(tensors: readonly NamedTensor[], metadata: Record<string, string> = {}): Buffer {
	const header: Record<string, unknown> = { __metadata__: metadata };
	let offset = 0;
	for (const tensor of tensors) {
		const end = offset + tensor.data.byteLength;
		header[tensor.name] = { dtype: 'F32', shape: tensor.shape, data_offsets: [offset, end] };
		offset = end;
	}
	let text = Buffer.from(JSON.stringify(header));
	const padding = (8 - (text.length % 8)) % 8;
	if (padding > 0) text = Buffer.concat([text, Buffer.alloc(padding, 0x20)]);
	const file = Buffer.alloc(8 + text.length + offset);
	file.writeBigUInt64LE(BigInt(text.length), 0);
	text.copy(file, 8);
	let at = 8 + text.length;
	for (const { data } of tensors) {
		Buffer.from(data.buffer, data.byteOffset, data.byteLength).copy(file, at);
		at += data.byteLength;
	}
	return file;
}

interface Entry {
	readonly dtype: string;
	readonly shape: readonly number[];
	readonly data_offsets: readonly [number, number];
}

function isEntry(value: unknown): value is Entry {
	const entry = value as Partial<Entry> | null;
	return (
		typeof entry === 'object' &&
		entry !== null &&
		typeof entry.dtype === 'string' &&
		Array.isArray(entry.shape) &&
		entry.shape.every((n) => Number.isSafeInteger(n) && n >= 0) &&
		Array.isArray(entry.data_offsets) &&
		entry.data_offsets.length === 2 &&
		entry.data_offsets.every((n) => Number.isSafeInteger(n) && n >= 0)
	);
}

/**
 * Decodes a safetensors file into a map from name to tensor. `what` is the file's name in error messages. Throws
 * `corrupt` for a damaged or truncated file and `unsupported` for tensors other than F32.
 */
export function decodeSafetensors(file: Buffer, what: string): Map<string, NamedTensor> {
	const broken = (why: string) =>
		new Failure('corrupt', `${what} is damaged: ${why}.`, 'Resume from a different checkpoint.');
	if (file.length < 8) throw broken('the file is shorter than its header');
	const length = Number(file.readBigUInt64LE(0));
	if (length > safetensorsHeader || 8 + length > file.length)
		throw broken('the file is shorter than its header declares');
	let header: unknown;
	try {
		header = parseBoundedJson(file.toString('utf8', 8, 8 + length));
	} catch {
		throw broken('the header is not valid JSON');
	}
	if (typeof header !== 'object' || header === null) throw broken('the header is not an object');
	const tensors = new Map<string, NamedTensor>();
	const start = 8 + length;
	let taken = 0;
	for (const [name, entry] of Object.entries(header)) {
		if (name === '__metadata__') continue;
		if (!isEntry(entry)) throw broken(`the entry for ${JSON.stringify(name)} is malformed`);
		if (entry.dtype !== 'F32') {
			throw new Failure('unsupported', `${what} contains ${entry.dtype} tensors. This engine supports only F32.`);
		}
		const [from, to] = entry.data_offsets;
		const size = entry.shape.reduce((a, b) => a * b, 1);
		if (to - from !== size * 4) throw broken(`the size of ${JSON.stringify(name)} does not match its shape`);
		if (start + to > file.length) throw broken('the file ends before its last tensor');
		// Overlapping tensors could use more memory than the file size.
		taken += to - from;
		if (taken > file.length) throw broken('tensors overlap');
		// Copy the bytes: the tensor must be 4-byte aligned and outlive the file buffer.
		const data = new Float32Array(size);
		Buffer.from(data.buffer).set(file.subarray(start + from, start + to));
		tensors.set(name, { name, shape: entry.shape, data });
	}
	return tensors;
}
