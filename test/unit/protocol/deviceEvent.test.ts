import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceNotes } from '../../../src/protocol/deviceEvent.ts';

const event = (more: object) => ({ time: 0, step: 0, type: 'device', took: 'cpu', ...more });
const timing = (provider: string, updateMs: number) => ({
	provider,
	rows: 64,
	tokens: 128,
	samplingMs: 20.4,
	updateMs,
});

test('the notes on a device state what was tried and what decided the choice', () => {
	const tried = [
		{ provider: 'cuda', error: 'onnxruntime-node for linux x64 does not include it' },
		{ provider: 'webgpu', error: 'no WebGPU adapter was found' },
	];
	assert.deepEqual(deviceNotes(event({ tried })), [
		'cuda was not used: onnxruntime-node for linux x64 does not include it.',
		'webgpu was not used: no WebGPU adapter was found.',
	]);
	const sentence = { provider: 'cuda', error: 'its libraries are not installed.' };
	assert.deepEqual(deviceNotes(event({ tried: [sentence] })), ['cuda was not used: its libraries are not installed.']);
	const measured = [timing('webgpu', 30), timing('cpu', 90)];
	assert.deepEqual(deviceNotes(event({ took: 'webgpu', tried: tried.slice(0, 1), measured })), [
		'cuda was not used: onnxruntime-node for linux x64 does not include it.',
		'Measured webgpu: sampling 20 ms and update 30 ms for 64 completions of 128 tokens.',
		'Measured cpu: sampling 20 ms and update 90 ms for 64 completions of 128 tokens.',
	]);
});

test('the notes on a device begin with the name of its adapter, if the engine records it', () => {
	const notes = (adapter: unknown) => deviceNotes(event({ took: 'webgpu', adapter }));
	assert.deepEqual(notes('SwiftShader Device (Subzero)'), ['Adapter: SwiftShader Device (Subzero).']);
	assert.deepEqual(notes(null), ['Adapter: unknown.']);
	assert.deepEqual(notes(undefined), []);
});

test('events of older engines, and damaged ones, have no notes', () => {
	assert.deepEqual(deviceNotes(event({})), []);
	assert.deepEqual(deviceNotes(event({ tried: 'webgpu' })), []);
});
