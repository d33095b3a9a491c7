import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierDevice } from '../../../../../src/engines/embedded/run/earlierDevice.ts';
import type { EventLine } from '../../../../../src/protocol/eventLine.ts';

const line = (fields: object) => ({ time: 1, ...fields }) as unknown as EventLine;
const device = (took: unknown, fields: object = {}) => line({ type: 'device', took, ...fields });

test('a resumed run keeps the memory that the sizes of its micro-batches were derived from', () => {
	const events = [line({ type: 'started' }), device('cuda', { memory: 80e9 }), line({ type: 'resumed' })];
	assert.deepEqual(earlierDevice(events), { provider: 'cuda', memory: 80e9 });
	// An attempt on the CPU in between changes the device, but not the sizes on a GPU.
	assert.deepEqual(earlierDevice([...events, device('cpu')]), { provider: 'cpu', memory: 80e9 });
	assert.deepEqual(earlierDevice([device('webgpu', { memory: null })]), { provider: 'webgpu', memory: null });
});

test('runs without a record of it, new ones, and damaged events use the memory of the current GPU', () => {
	assert.deepEqual(earlierDevice([]), { provider: null, memory: undefined });
	assert.deepEqual(earlierDevice([device('cuda')]), { provider: 'cuda', memory: undefined });
	assert.deepEqual(earlierDevice([device('cpu', { memory: 5 })]), { provider: 'cpu', memory: undefined });
	for (const memory of [0, -1, 1.5, '80', Number.NaN, Infinity, {}]) {
		assert.equal(earlierDevice([device('cuda', { memory })]).memory, undefined);
	}
	assert.deepEqual(earlierDevice([device('constructor', { memory: 5 }), device(7)]), {
		provider: null,
		memory: undefined,
	});
});
