import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { Random } from '../../../../../src/base/random.ts';
import { type StoredCheckpoint, storedParameters } from '../../../../../src/engines/embedded/run/checkpointFolder.ts';
import {
	decodeSafetensors,
	encodeSafetensors,
	type NamedTensor,
} from '../../../../../src/engines/embedded/run/safetensors.ts';
import { modelShapeSchema } from '../../../../../src/protocol/checkpointState.ts';
import { decode } from '../../../../../src/protocol/decode.ts';

const random = Random.of('safetensors');
const tensors: NamedTensor[] = [[3, 4], [7], [], [2, 0]].map((shape, i) => ({
	name: `block.${i}.weight`,
	shape,
	data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal()),
}));

test('tensors survive a round trip, and the header follows the format', () => {
	const file = encodeSafetensors(tensors, { format: 'pt' });
	assert.deepEqual([...decodeSafetensors(file, 'file').values()], tensors);
	const length = Number(file.readBigUInt64LE(0));
	assert.equal((8 + length) % 8, 0);
	const header = JSON.parse(file.toString('utf8', 8, 8 + length)) as Record<string, unknown>;
	assert.deepEqual(header.__metadata__, { format: 'pt' });
	assert.deepEqual(header['block.1.weight'], { dtype: 'F32', shape: [7], data_offsets: [48, 76] });
	assert.equal(file.length, 8 + length + 4 * (12 + 7 + 1 + 0));
});

test('damaged files are rejected and never read past the end', () => {
	const file = encodeSafetensors(tensors);
	for (let length = 0; length < file.length; length += 7) {
		assert.throws(() => decodeSafetensors(file.subarray(0, length), 'file'), { reason: 'corrupt' });
	}
	for (let i = 0; i < 300; i++) {
		const broken = Buffer.from(file);
		broken[random.int(200)] = random.int(256);
		try {
			decodeSafetensors(broken, 'file');
		} catch (error) {
			assert.ok(error instanceof Failure, String(error));
		}
	}
});

test('declaring more parameters than the checkpoint has is a mismatch, not an out-of-memory error', () => {
	const tensor: NamedTensor = { name: 'head', shape: [2, 2], data: new Float32Array(4) };
	const checkpoint = { folder: 'c', model: new Map([['head', tensor]]) } as unknown as StoredCheckpoint;
	assert.deepEqual([...storedParameters(checkpoint, [{ ...tensor, decay: true }])], [0, 0, 0, 0]);
	const huge = [{ name: 'head', shape: [1e9, 1e9], decay: true }];
	assert.throws(() => storedParameters(checkpoint, huge), { reason: 'mismatch' });
	const shape = { vocabulary: 5, context: 6, width: 8, heads: 2, layers: 1e9, feedForward: 16 };
	assert.equal(decode(modelShapeSchema, shape).ok, false);
	assert.equal(decode(modelShapeSchema, { ...shape, layers: 4 }).ok, true);
});

test('a small file cannot cause a large allocation', () => {
	const data_offsets = [0, 4096];
	const entries = Array.from({ length: 50 }, (_, i) => [`t${i}`, { dtype: 'F32', shape: [1024], data_offsets }]);
	const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
	const file = Buffer.concat([Buffer.alloc(8), header, Buffer.alloc(4096)]);
	file.writeBigUInt64LE(BigInt(header.length), 0);
	assert.throws(() => decodeSafetensors(file, 'x'), { reason: 'corrupt', message: /overlap/ });
});
