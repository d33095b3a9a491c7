import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { zipLimits } from '../base/decodingLimits.ts';
import { Failure } from '../base/failure.ts';

/**
 * Reader for Inspect's `.eval` files: zip archives of `samples/ID_epoch_N.json` (inspect_ai/log/_recorders/eval.py),
 * compressed with Deflate or, in newer archives, with Zstandard (method 93).
 */

const endMark = 0x06054b50;
const entryMark = 0x02014b50;
const localMark = 0x04034b50;
const methods = { stored: 0, deflate: 8, zstd: 93 } as const;

interface Entry {
	readonly name: string;
	readonly method: number;
	readonly packed: number;
	readonly size: number;
	readonly offset: number;
	readonly encrypted: boolean;
}

/** Returns whether a file starts like a zip archive. */
export function isZip(head: Uint8Array): boolean {
	return head[0] === 0x50 && head[1] === 0x4b && head[2] === 3 && head[3] === 4;
}

/**
 * Converts the samples in an `.eval` file to the text of a JSON Inspect log, with the parts of each sample that a
 * transcript shows. Work and memory are bounded, regardless of what the archive claims. Fails with `invalid` if it is
 * not an Inspect archive, and with `unsupported` if it is too large or compressed with a method that this Node.js
 * lacks.
 * @param name file name for messages
 */
export async function inspectArchiveText(bytes: Uint8Array, name: string): Promise<string> {
	const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const samples = entriesOf(data, name).filter((entry) => /^samples\/[^/]+\.json$/.test(entry.name));
	if (samples.length === 0) {
		throw new Failure('invalid', `${name} is a zip archive without Inspect samples.`, 'Open an .eval file.');
	}
	const texts: string[] = [];
	let left: number = zipLimits.decodedBytes;
	let characters = 0;
	for (const entry of samples) {
		const limit = Math.min(left, zipLimits.entryBytes);
		const decoded = await decodedEntry(data, entry, limit, name);
		left -= decoded.length;
		const text = sampleText(decoded, entry.name, name);
		characters += text.length + 1;
		if (characters > zipLimits.characters - 100) throw tooLarge(name, 'its conversations are larger than 32 MB');
		texts.push(text);
	}
	return `{"eval":{},"samples":[${texts.join(',')}]}`;
}

/** Returns the parts of a sample that a transcript shows, including model events without their repeated input. */
function sampleText(decoded: Buffer, entry: string, name: string): string {
	let sample: unknown;
	try {
		sample = parseBoundedJson(decoded.toString('utf8'));
	} catch (error) {
		throw new Failure('invalid', `Cannot read ${entry} in ${name}: ${(error as Error).message.slice(0, 200)}.`);
	}
	if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) {
		throw new Failure('invalid', `${entry} in ${name} is not an Inspect sample.`);
	}
	const { id, epoch, input, messages, output, scores, error, attachments, events } = sample as Record<string, unknown>;
	const model = (Array.isArray(events) ? events : []).flatMap((event: unknown) => {
		const fields = (typeof event === 'object' && event !== null ? event : {}) as Record<string, unknown>;
		return fields.event === 'model' ? [{ event: 'model', output: fields.output, tools: fields.tools }] : [];
	});
	return JSON.stringify({ id, epoch, input, messages, output, scores, error, attachments, events: model });
}

function entriesOf(data: Buffer, name: string): Entry[] {
	const broken = (why: string) => new Failure('invalid', `${name} is a damaged zip archive: ${why}.`, 'Copy it again.');
	// The end record is 22 bytes long, plus a comment of up to 65,535 bytes.
	let end = -1;
	for (let at = data.length - 22; at >= Math.max(0, data.length - 22 - 0xffff); at--) {
		if (data.readUInt32LE(at) === endMark) {
			end = at;
			break;
		}
	}
	if (end < 0) throw broken('it has no end record');
	const count = data.readUInt16LE(end + 10);
	let at = data.readUInt32LE(end + 16);
	if (count === 0xffff || at === 0xffffffff) throw tooLarge(name, 'it uses the format for archives over 4 GB');
	if (count > zipLimits.entries)
		throw tooLarge(name, `it has ${count} entries, more than the limit of ${zipLimits.entries}`);
	const entries: Entry[] = [];
	for (let i = 0; i < count; i++) {
		if (at + 46 > end || data.readUInt32LE(at) !== entryMark)
			throw broken(`entry ${i + 1} in its directory is missing`);
		const length = data.readUInt16LE(at + 28);
		entries.push({
			name: data.toString('utf8', at + 46, at + 46 + length),
			encrypted: (data.readUInt16LE(at + 8) & 1) !== 0,
			method: data.readUInt16LE(at + 10),
			packed: data.readUInt32LE(at + 20),
			size: data.readUInt32LE(at + 24),
			offset: data.readUInt32LE(at + 42),
		});
		at += 46 + length + data.readUInt16LE(at + 30) + data.readUInt16LE(at + 32);
	}
	return entries;
}

async function decodedEntry(data: Buffer, entry: Entry, limit: number, name: string): Promise<Buffer> {
	const { offset, packed, size, method, encrypted } = entry;
	if (encrypted) throw new Failure('unsupported', `${entry.name} in ${name} is encrypted.`);
	if (size > limit) throw tooLarge(name, `${entry.name} has ${size} bytes`);
	if (offset + 30 > data.length || data.readUInt32LE(offset) !== localMark) {
		throw new Failure('invalid', `${name} is a damaged zip archive: ${entry.name} is missing.`, 'Copy it again.');
	}
	const start = offset + 30 + data.readUInt16LE(offset + 26) + data.readUInt16LE(offset + 28);
	if (start + packed > data.length) {
		throw new Failure('invalid', `${name} is a damaged zip archive: ${entry.name} is truncated.`, 'Copy it again.');
	}
	const body = data.subarray(start, start + packed);
	if (method === methods.stored) return body;
	try {
		// Decoding is limited to the size that the entry claims; a single byte more is an error.
		if (method === methods.deflate)
			return await promisify(zlib.inflateRaw)(body, { maxOutputLength: Math.max(1, size) });
		if (method === methods.zstd) return await unzstd(body, size, name);
	} catch (error) {
		if (error instanceof Failure) throw error;
		const why = (error as Error).message.slice(0, 200);
		throw new Failure('invalid', `Cannot read ${entry.name} in ${name}: ${why}.`, 'Copy the file again.');
	}
	throw new Failure(
		'unsupported',
		`${entry.name} in ${name} is compressed with method ${method}, which is not supported.`,
	);
}

function unzstd(body: Buffer, size: number, name: string): Promise<Buffer> {
	// Available in Node.js since 22.15 and 23.8; the editor can bundle an older version.
	const { zstdDecompress } = zlib as Partial<Pick<typeof zlib, 'zstdDecompress'>>;
	if (zstdDecompress === undefined) throw withoutZstd(name, process.versions.node);
	return promisify(zstdDecompress)(body, { maxOutputLength: Math.max(1, size) }) as Promise<Buffer>;
}

/** Exported for the test, because this Node.js might support Zstandard. */
export function withoutZstd(name: string, version: string): Failure {
	return new Failure(
		'unsupported',
		`${name} is compressed with Zstandard, which Node.js ${version} does not support (22.15 or newer is required).`,
		'Convert it with "inspect log convert --to json", or update the editor.',
	);
}

function tooLarge(name: string, why: string): Failure {
	return new Failure(
		'unsupported',
		`${name} is too large: ${why}.`,
		'Export individual samples with "inspect log dump".',
	);
}
