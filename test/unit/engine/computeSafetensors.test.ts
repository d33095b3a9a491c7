import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, type Reason } from '../../../src/base/failure.ts';
import {
	decodeParameters,
	decodeSafetensors,
	encodeParameters,
	encodeSafetensors,
} from '../../../src/engine/compute/safetensors.ts';
import type { ModelShape } from '../../../src/engine/learner.ts';
import { initialParameters, parameterSpecs } from '../../../src/engine/model/parameters.ts';

const shape: ModelShape = { vocabulary: 5, context: 7, width: 8, heads: 2, layers: 1, feedForward: 12 };
const specs = parameterSpecs(shape);

function fails(reason: Reason, pattern: RegExp): (error: unknown) => boolean {
	return (error) => {
		assert.ok(error instanceof Failure);
		assert.equal(error.reason, reason);
		assert.match(error.message, pattern);
		return true;
	};
}

test('bytes follow the published layout', () => {
	const file = encodeSafetensors(new Map([['w', { shape: [2], data: Float32Array.of(1, -2) }]]), { a: 'b' });
	const header = '{"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}';
	const length = new DataView(file.buffer).getBigUint64(0, true);
	assert.equal(length % 8n, 0n);
	assert.equal(new TextDecoder().decode(file.subarray(8, 8 + Number(length))).trimEnd(), header);
	assert.deepEqual([...file.subarray(8 + Number(length))], [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
});

test('parameters survive a round trip bit for bit', () => {
	const flat = initialParameters(shape, 3);
	flat[0] = Number.NaN;
	flat[1] = -0;
	const bytes = encodeParameters(specs, flat, { step: '7' });
	// An odd offset, as bytes within a larger buffer have.
	const shifted = new Uint8Array(bytes.length + 3);
	shifted.set(bytes, 3);
	const decoded = decodeParameters(shifted.subarray(3), 'x', specs);
	assert.deepEqual(new Uint32Array(decoded.parameters.buffer), new Uint32Array(flat.buffer));
	assert.deepEqual(decoded.metadata, { step: '7' });
});

test('a file cut anywhere is corrupt and names itself', () => {
	const bytes = encodeParameters(specs, initialParameters(shape, 3));
	for (const length of [0, 7, 8, 50, bytes.length >> 1, bytes.length - 1]) {
		assert.throws(
			() => decodeParameters(bytes.subarray(0, length), 'step-7/policy', specs),
			fails('corrupt', /step-7\/policy/),
		);
	}
});

test('damaged headers are corrupt', () => {
	const make = (header: string): Uint8Array => {
		const text = new TextEncoder().encode(header);
		const bytes = new Uint8Array(8 + text.length + 8);
		new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
		bytes.set(text, 8);
		return bytes;
	};
	const tensor = (fields: object) =>
		make(JSON.stringify({ w: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...fields } }));
	assert.equal(decodeSafetensors(tensor({}), 'f').tensors.get('w')?.data.length, 2);
	for (const bytes of [
		make('[]'),
		make('{'),
		make('{"w":null}'),
		tensor({ dtype: 'BF16' }),
		tensor({ shape: [-2] }),
		tensor({ shape: [3] }),
		tensor({ data_offsets: [8, 0] }),
		tensor({ data_offsets: [4, 12] }),
		tensor({ shape: [1e12], data_offsets: [0, 4e12] }),
	]) {
		assert.throws(() => decodeSafetensors(bytes, 'f'), fails('corrupt', /^f /));
	}
	const huge = new Uint8Array(16);
	new DataView(huge.buffer).setBigUint64(0, 2n ** 63n, true);
	assert.throws(() => decodeSafetensors(huge, 'f'), fails('corrupt', /header/));
});

test('a file of another model is a mismatch that names the tensor', () => {
	const flat = initialParameters(shape, 3);
	const wider = parameterSpecs({ ...shape, vocabulary: 6 });
	assert.throws(
		() => decodeParameters(encodeParameters(specs, flat), 'f', wider),
		fails('mismatch', /embedding\.tokens has shape \[5, 8\] instead of \[6, 8\]/),
	);
	const deeper = { ...shape, layers: 2 };
	assert.throws(
		() => decodeParameters(encodeParameters(specs, flat), 'f', parameterSpecs(deeper)),
		fails('mismatch', /no tensor blocks\.1\./),
	);
	assert.throws(
		() => decodeParameters(encodeParameters(parameterSpecs(deeper), initialParameters(deeper, 1)), 'f', specs),
		fails('mismatch', /blocks\.1\..* too many/),
	);
});
