import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { deviationOf, differs, firstDifference } from '../../src/engines/embedded/compute/firstDifference.ts';
import { holdDevice, releaseDevice } from '../../src/engines/embedded/compute/heldDevice.ts';
import { dialects, type ProviderName, runtimeNames } from '../../src/engines/embedded/compute/providers.ts';
import { Session, type Tensor, Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import { skip } from '../support/softwareGpu.ts';
import { type ProgramCase, programCases, randomShape } from './programs.ts';

/**
 * Compares every program of the engine on the WebGPU provider with the CPU provider: each output, element by element.
 * Where one differs, every intermediate value is compared, and the test names the first operator that is wrong.
 */

/** WebGPU, unless TEST_GPU_PROVIDER names another provider. */
const tested = (process.env.TEST_GPU_PROVIDER ?? 'webgpu') as ProviderName;

/** Relative to the largest element. */
const tolerance = 1e-4;

async function outputs({ graph, feeds }: ProgramCase, provider: string): Promise<Record<string, Tensor>> {
	const session = await Session.create(graph.encode(), { provider, threads: 1 });
	try {
		return await session.run(feeds);
	} finally {
		await session.release();
	}
}

async function checkProgram(program: ProgramCase): Promise<void> {
	const [cpu, gpu] = [await outputs(program, 'cpu'), await outputs(program, runtimeNames[tested])];
	for (const [name, { data }] of Object.entries(cpu)) {
		const found = deviationOf(data as Float32Array, gpu[name]?.data as Float32Array);
		assert.ok(found.largest > 0 || /bias|probability/.test(name), `${name} is zero: the case tests nothing`);
		if (!differs(found, tolerance)) continue;
		const first = await firstDifference(program.graph, program.feeds, ['cpu', runtimeNames[tested]], tolerance);
		assert.fail(`${name} differs: ${JSON.stringify(found)}; the first wrong value: ${JSON.stringify(first)}`);
	}
}

/** Programs that differ for long contexts: heads in groups, and recomputed layers. */
const longContextPrograms = ['prefill', 'logprobs', 'gradient grpo old kl', 'value gradient labels'];

/** Declares the tests. @param seeds for random shapes, weights and inputs */
export function describePrograms(seeds: readonly number[]): void {
	describe(`every program computes on ${tested} what it computes on the CPU`, { skip }, async () => {
		const tensors = await Tensors.load();
		// Shaders are compiled once, not once per program.
		await holdDevice(tested);
		after(() => releaseDevice(tested));
		for (const seed of seeds) {
			const random = Random.of('gpu programs', seed);
			const shape = randomShape(random);
			for (const program of programCases(shape, random, { tensors, dialect: dialects[tested] })) {
				test(`${program.name}, seed ${seed}`, () => checkProgram(program));
			}
			const long = { ...shape, context: 16_384, layers: 2, heads: 2, width: 16 };
			const cases = programCases(long, random, { tensors, dialect: dialects[tested] });
			for (const name of longContextPrograms) {
				const program = cases.find((one) => one.name === name);
				assert.ok(program !== undefined, `no program ${name}`);
				test(`${name}, long context, seed ${seed}`, () => checkProgram(program));
			}
		}
	});
}
