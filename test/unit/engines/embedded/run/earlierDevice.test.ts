import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierDevice } from '../../../../../src/engines/embedded/run/earlierDevice.ts';
import type { EventLine } from '../../../../../src/protocol/eventLine.ts';

const line = (fields: object) => ({ time: 1, ...fields }) as unknown as EventLine;
const device = (took: unknown, fields: object = {}) => line({ type: 'device', took, ...fields });

const deviceOf = (events: readonly EventLine[]) => {
	const { provider, memory } = earlierDevice(events);
	return { provider, memory };
};

test('a resumed run keeps the memory size that its micro-batch sizes were derived from', () => {
	const events = [line({ type: 'started' }), device('cuda', { memory: 80e9 }), line({ type: 'resumed' })];
	assert.deepEqual(deviceOf(events), { provider: 'cuda', memory: 80e9 });
	// An attempt on the CPU in between changes the device, but not the sizes on a GPU.
	assert.deepEqual(deviceOf([...events, device('cpu')]), { provider: 'cpu', memory: 80e9 });
	assert.deepEqual(deviceOf([device('webgpu', { memory: null })]), { provider: 'webgpu', memory: null });
});

test('new runs, and runs whose recorded memory size is missing or damaged, use the memory size of the current GPU', () => {
	assert.deepEqual(deviceOf([]), { provider: null, memory: undefined });
	assert.deepEqual(deviceOf([device('cuda')]), { provider: 'cuda', memory: undefined });
	assert.deepEqual(deviceOf([device('cpu', { memory: 5 })]), { provider: 'cpu', memory: undefined });
	for (const memory of [0, -1, 1.5, '80', Number.NaN, Infinity, {}]) {
		assert.equal(earlierDevice([device('cuda', { memory })]).memory, undefined);
	}
	assert.deepEqual(deviceOf([device('constructor', { memory: 5 }), device(7)]), {
		provider: null,
		memory: undefined,
	});
});

test('a resumed run keeps the micro-batch sizes that running out of memory reduced', () => {
	const reduced = (use: unknown, rows: unknown) =>
		line({ type: 'alert', level: 'warning', message: 'Full.', use, rows });
	assert.deepEqual(earlierDevice([]).reducedRows, {});
	const events = [reduced('train', 64), reduced('train', 32), reduced('sample', 128), device('webgpu')];
	assert.deepEqual(earlierDevice(events).reducedRows, { train: 32, sample: 128 });
	// Alerts about rewards also have a number of rows.
	const others = [reduced(undefined, 7), reduced('train', 0), reduced('train', '8'), reduced('other', 8)];
	assert.deepEqual(earlierDevice(others).reducedRows, {});
});
