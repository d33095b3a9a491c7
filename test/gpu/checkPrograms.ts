import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { deviationOf, differs, firstDifference } from '../../src/engines/embedded/compute/firstDifference.ts';
import { holdDevice, releaseDevice } from '../../src/engines/embedded/compute/heldDevice.ts';
import { dialects } from '../../src/engines/embedded/compute/providers.ts';
import { Session, type Tensor, Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import { skip } from '../support/softwareGpu.ts';
import { type ProgramCase, programCases, randomShape } from './programs.ts';

/**
 * Every program of the engine on the WebGPU provider against the CPU provider: each output, element by element. Where
 * one differs, every intermediate value is compared, and the test names the first operator that is wrong.
 */

/** Of the largest element. */
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
	const [cpu, gpu] = [await outputs(program, 'cpu'), await outputs(program, 'webgpu')];
	for (const [name, { data }] of Object.entries(cpu)) {
		const found = deviationOf(data as Float32Array, gpu[name]?.data as Float32Array);
		assert.ok(found.largest > 0 || /bias|probability/.test(name), `${name} is zero: the case tests nothing`);
		if (!differs(found, tolerance)) continue;
		const first = await firstDifference(program.graph, program.feeds, ['cpu', 'webgpu'], tolerance);
		assert.fail(`${name} differs: ${JSON.stringify(found)}; the first wrong value: ${JSON.stringify(first)}`);
	}
}

/** Declares the tests. @param seeds of random shapes, weights and inputs */
export function describePrograms(seeds: readonly number[]): void {
	describe('every program computes on WebGPU what it computes on the CPU', { skip }, async () => {
		const tensors = await Tensors.load();
		// Shaders are compiled once, not once a program.
		await holdDevice('webgpu');
		after(() => releaseDevice('webgpu'));
		for (const seed of seeds) {
			const random = Random.of('gpu programs', seed);
			const shape = randomShape(random);
			for (const program of programCases(shape, random, { tensors, dialect: dialects.webgpu })) {
				test(`${program.name}, seed ${seed}`, () => checkProgram(program));
			}
		}
	});
}
