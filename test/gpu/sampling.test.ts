import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { Executor } from '../../src/engines/embedded/compute/executor.ts';
import { holdDevice, releaseDevice } from '../../src/engines/embedded/compute/heldDevice.ts';
import type { SampleJob } from '../../src/engines/embedded/compute/jobs.ts';
import { Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import { initialParameters } from '../../src/engines/embedded/model/parameters.ts';
import type { ModelShape } from '../../src/engines/shared/modelShape.ts';
import { skip } from '../support/softwareGpu.ts';

/** Compares sampling with weights and cache on the device with sampling on the CPU. */

const shape: ModelShape = { vocabulary: 13, context: 80, width: 24, heads: 3, layers: 1, feedForward: 40 };

function sharedWeights(seed: number): SharedArrayBuffer {
	const random = Random.of('sampling weights', seed);
	const parameters = initialParameters(shape, seed).map((x) => x + 0.2 * random.normal());
	const buffer = new SharedArrayBuffer(parameters.byteLength);
	new Float32Array(buffer).set(parameters);
	return buffer;
}

/** Rows with prompts of several lengths, which split, end at different times and outgrow the first slots. */
function job(buffer: SharedArrayBuffer, version: number): SampleJob {
	const random = Random.of('sampling', 1);
	const prompts = [1, 4, 9].map((length) => Int32Array.from({ length }, () => random.int(shape.vocabulary)));
	const promptOf = Int32Array.from({ length: 6 }, (_, row) => row % prompts.length);
	return {
		kind: 'sample',
		weights: { slot: 'policy', version, buffer },
		prompts,
		promptOf,
		seeds: Array.from(promptOf, (_, row) => `row ${row}`),
		maxNewTokens: Int32Array.from(promptOf, (_, row) => 10 + 10 * row),
		temperature: 0.9,
		topP: 1,
		stop: [2],
		alternatives: null,
	};
}

describe('sampling on WebGPU', { skip }, async () => {
	const tensors = await Tensors.load();
	await holdDevice('webgpu');
	const [cpu, gpu] = [new Executor(shape, 'cpu', tensors), new Executor(shape, 'webgpu', tensors)];
	after(async () => {
		await gpu.release();
		await cpu.release();
		await releaseDevice('webgpu');
	});

	test('gives the same tokens and log-probabilities as the CPU, even after the weights change', async () => {
		for (const version of [1, 2]) {
			const request = job(sharedWeights(version), version);
			const [expected, actual] = [await cpu.sample(request), await gpu.sample(request)];
			assert.deepEqual(actual.lengths, expected.lengths);
			assert.deepEqual(actual.tokens, expected.tokens);
			assert.deepEqual(actual.truncated, expected.truncated);
			for (const [i, logprob] of expected.logprobs.entries()) {
				assert.ok(Math.abs(logprob - (actual.logprobs[i] as number)) < 1e-4);
			}
		}
	});

	test('chooses greedily like the CPU', async () => {
		const request = { ...job(sharedWeights(1), 4), temperature: 0 };
		assert.deepEqual((await gpu.sample(request)).tokens, (await cpu.sample(request)).tokens);
	});

	/** The short prompt's completion needs slots after the long prompt's, so there are more slots than context tokens. */
	test('fills the context after prompts of very different lengths, chosen by the device and by the host', async () => {
		const random = Random.of('long and short', 1);
		const prompts = [2, 70].map((length) => Int32Array.from({ length }, () => random.int(shape.vocabulary)));
		const promptOf = Int32Array.of(0, 1, 0, 1);
		const request: SampleJob = {
			...job(sharedWeights(1), 7),
			...{ prompts, promptOf, stop: [] },
			seeds: Array.from(promptOf, (_, row) => `long ${row}`),
			maxNewTokens: promptOf.map(() => shape.context),
		};
		for (const changes of [{}, { topP: 0.9 }]) {
			const [expected, actual] = [
				await cpu.sample({ ...request, ...changes }),
				await gpu.sample({ ...request, ...changes }),
			];
			assert.deepEqual([...expected.lengths], [78, 10, 78, 10]);
			assert.deepEqual(actual.lengths, expected.lengths);
			assert.deepEqual(actual.tokens, expected.tokens);
		}
	});

	test('returns full distributions to the CPU if a request needs them', async () => {
		const request = { ...job(sharedWeights(1), 5), topP: 0.8, alternatives: 2 };
		const [expected, actual] = [await cpu.sample(request), await gpu.sample(request)];
		assert.deepEqual([actual.tokens, actual.topTokens], [expected.tokens, expected.topTokens]);
	});

	test('uploads weights once and a random number per row and step, and returns two numbers with each token', async () => {
		const buffer = sharedWeights(3);
		gpu.traffic.take();
		await gpu.sample(job(buffer, 6));
		const first = gpu.traffic.take();
		const { tokens } = await gpu.sample(job(buffer, 6));
		const second = gpu.traffic.take();
		assert.equal(first.bytesUp - second.bytesUp, buffer.byteLength);
		assert.equal(first.bytesDown, second.bytesDown);
		// Finished rows are still computed until the host checks again and removes them.
		assert.ok(second.bytesDown >= 12 * tokens.length && second.bytesDown % 12 === 0);
		assert.ok(second.bytesDown < 24 * tokens.length, `${second.bytesDown} bytes down for ${tokens.length} tokens`);
		assert.ok(second.bytesUp < 12 * tokens.length + 2000, `${second.bytesUp} bytes up for ${tokens.length} tokens`);
		assert.ok(second.dispatches > 0);
	});
});
