import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ProtoWriter } from '../../../src/engines/embedded/onnx/protobuf.ts';
import { checkOnnxFile } from '../../../src/rewards/onnxFile.ts';
import { checkTokenizer, readTokenizer } from '../../../src/rewards/tokenizerFile.ts';

const place = mkdtempSync(join(tmpdir(), 'onnx-'));
after(() => rmSync(place, { recursive: true, force: true }));
const folder = join(place, 'model');
mkdirSync(folder);
writeFileSync(join(place, 'secret.bin'), Buffer.alloc(64));
writeFileSync(join(folder, 'weights.bin'), Buffer.alloc(64));
symlinkSync(join(place, 'secret.bin'), join(folder, 'link.bin'));
symlinkSync('weights.bin', join(folder, 'alias.bin'));

const message = () => new ProtoWriter();
const entry = (key: string, value: string) => message().text(1, key).text(2, value);

/** Encodes a float32 TensorProto. */
function tensor(shape: readonly number[], external?: Readonly<Record<string, string>>): ProtoWriter {
	const writer = message();
	for (const size of shape) writer.integer(1, size);
	writer.integer(2, 1).text(8, 'w');
	if (external === undefined) return writer;
	for (const [key, value] of Object.entries(external)) writer.message(13, entry(key, value));
	return writer.integer(14, 1);
}

const external = (location: string, more: Readonly<Record<string, string>> = {}) =>
	tensor([4], { location, length: '16', ...more });
const withInitializer = (...tensors: ProtoWriter[]) =>
	model(tensors.reduce((graph, one) => graph.message(5, one), message()));
const model = (graph: ProtoWriter) => message().integer(1, 9).message(7, graph);

async function check(written: ProtoWriter | Uint8Array): Promise<void> {
	const path = join(folder, 'model.onnx');
	writeFileSync(path, written instanceof ProtoWriter ? written.finish() : written);
	await checkOnnxFile(path);
}

/** Encodes recursively nested graphs, each in a node attribute of the one around it. */
function nested(depth: number): ProtoWriter {
	let graph = message();
	for (let i = 0; i < depth; i++) {
		graph = message().message(1, message().text(4, 'If').message(5, message().message(6, graph)));
	}
	return graph;
}

/** Encodes a chain of functions, each calling the next `times` times. */
function calling(count: number, times: number, last = 'Add'): ProtoWriter {
	const written = model(message().message(1, message().text(4, 'f0')));
	for (let i = 0; i < count; i++) {
		const called = message();
		called.text(1, `f${i}`);
		for (let n = 0; n < times; n++) called.message(7, message().text(4, i + 1 < count ? `f${i + 1}` : last));
		written.message(25, called);
	}
	return written;
}

describe('an external ONNX file', () => {
	test('is accepted with embedded data and data in neighboring files', async () => {
		const raw = tensor([2, 2]).bytes(9, new Uint8Array(16));
		const scalar = tensor([]).bytes(9, new Uint8Array(4));
		const empty = tensor([0]);
		await check(withInitializer(raw, scalar, empty, external('weights.bin'), external('alias.bin', { offset: '48' })));
		await check(model(nested(10)));
		await check(calling(8, 2));
	});

	const refusals: [name: string, written: ProtoWriter, pattern: RegExp][] = [
		['an absolute path', withInitializer(external(join(place, 'secret.bin'))), /outside its folder/],
		['a path to a parent folder', withInitializer(external('../secret.bin')), /outside its folder/],
		['a path into a folder and out again', withInitializer(external('x\\..\\..\\secret.bin')), /outside its folder/],
		['a link to a file outside its folder', withInitializer(external('link.bin')), /outside its folder/],
		['no path', withInitializer(external('')), /outside its folder/],
		['an address in memory', withInitializer(external('*/_ORT_MEM_ADDR_/*')), /secret|Cannot read the external data/],
		['a folder', withInitializer(external('.')), /outside its folder|not a regular file/],
		['a missing file', withInitializer(external('other.bin')), /Cannot read the external data "other\.bin"/],
		['data past the end of a file', withInitializer(external('weights.bin', { offset: '56' })), /past the end/],
		['a negative offset', withInitializer(external('weights.bin', { offset: '-8' })), /does not match its shape/],
		[
			'less data than its shape requires',
			withInitializer(tensor([1e9], { location: 'weights.bin', length: '4' })),
			/does not match its shape/,
		],
		['a size without data', withInitializer(tensor([1e12])), /larger than its data/],
		[
			'sizes whose product overflows',
			withInitializer(tensor([2 ** 52, 2 ** 52]).bytes(9, new Uint8Array(8))),
			/larger/,
		],
		['a negative size', withInitializer(tensor([-4]).bytes(9, new Uint8Array(16))), /invalid size/],
		[
			'a huge sparse tensor',
			model(
				message().message(
					15,
					message()
						.message(1, tensor([0]))
						.integer(3, 1e6)
						.integer(3, 1e6),
				),
			),
			/sparse tensors are too large/,
		],
		[
			'a constant in a subgraph with data outside its folder',
			model(
				message().message(
					1,
					message().message(5, message().message(6, message().message(5, external('../secret.bin')))),
				),
			),
			/outside its folder/,
		],
		['deeply nested graphs', model(nested(3000)), /16 levels deep/],
		['functions that call each other', calling(16, 4000), /expand to too many nodes/],
		['a function that calls itself', calling(1, 1, 'f0'), /functions are nested/],
		['no graph', message().integer(1, 9), /not an ONNX model/],
	];
	for (const [name, written, pattern] of refusals) {
		test(`is rejected with ${name}`, async () => {
			await assert.rejects(check(written), (error: Error) => {
				assert.match(error.message, /^(Cannot load model|Cannot read the external data) .*model\.onnx/);
				assert.match(error.message, pattern);
				return true;
			});
		});
	}

	test('is rejected if many tensors share the same bytes', async () => {
		writeFileSync(join(folder, 'large.bin'), Buffer.alloc(1 << 20));
		const one = tensor([1 << 18], { location: 'large.bin' });
		await check(withInitializer(one, one));
		await assert.rejects(check(withInitializer(...Array<ProtoWriter>(80).fill(one))), /overlap in the external data/);
	});

	test('is read safely when truncated or damaged at any position', async () => {
		const whole = withInitializer(tensor([2, 2]).bytes(9, new Uint8Array(16)), external('weights.bin')).finish();
		for (let i = 0; i < whole.length; i++) {
			for (const bytes of [whole.subarray(0, i), whole.with(i, 0xff), whole.with(i, 0)]) {
				await check(bytes).catch((error: Error) => assert.equal(error.name, 'Failure', error.stack));
			}
		}
	});
});

describe('an external tokenizer.json', () => {
	const replace = (content: string) => ({ type: 'Replace', pattern: { String: 'a' }, content });

	test('is accepted as published with known models', () => {
		checkTokenizer({
			normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, replace('▁')] },
			pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: '\\p{L}+' } }] },
			decoder: null,
		});
	});

	test('is rejected if text could grow without bound or a pattern does not terminate', () => {
		const growing = { type: 'Sequence', normalizers: Array(40).fill(replace('aa')) };
		assert.throws(
			() => checkTokenizer({ normalizer: growing }),
			/normalizer expands a character to more than 1000 characters/,
		);
		assert.throws(() => checkTokenizer({ normalizer: replace('a'.repeat(1001)) }), /expands a character to more than/);
		const split = { type: 'Split', pattern: { Regex: '(a|b)'.repeat(2001) } };
		assert.throws(
			() => checkTokenizer({ pre_tokenizer: split }),
			/pattern in its pre_tokenizer is 10,005 characters long/,
		);
		let deep: object = replace('b');
		for (let i = 0; i < 20; i++) deep = { type: 'Sequence', normalizers: [deep] };
		assert.throws(() => checkTokenizer({ normalizer: deep }), /too deep/);
	});

	test('is rejected for its size or number of values before parsing', async () => {
		const path = join(place, 'tokenizer.json');
		writeFileSync(path, `{"model":[${'[],'.repeat(3_000_000)}0]}`);
		await assert.rejects(readTokenizer(path, Object), /is not a valid tokenizer\.json: more than 4000000 values/);
		writeFileSync(path, '['.repeat(100_000));
		await assert.rejects(readTokenizer(path, Object), /values are nested more than 500 levels/);
	});
});
