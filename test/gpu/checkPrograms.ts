import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import {
	deviationOf,
	differs,
	firstDifference,
	type PlacedProgram,
} from '../../src/engines/embedded/compute/firstDifference.ts';
import { holdDevice, releaseDevice } from '../../src/engines/embedded/compute/heldDevice.ts';
import {
	dialectOf,
	hasPrecision,
	type ProviderName,
	runtimeNames,
} from '../../src/engines/embedded/compute/providers.ts';
import { type Feeds, Session, type Tensor, Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import { encodeOnnxModel, type OnnxModel } from '../../src/engines/embedded/onnx/onnxModel.ts';
import { type PrecisionName, precisionNames } from '../../src/protocol/recipeKeys/torchRecipe.ts';
import { roundedOnHost } from '../support/roundedOnHost.ts';
import { hardware, skip } from '../support/softwareGpu.ts';
import { unfusedOnHost } from '../support/unfusedOnHost.ts';
import { type ProgramCase, programCases, randomShape } from './programs.ts';

/**
 * Compares every program of the engine on the WebGPU provider with the CPU provider: each output, element by element.
 * Where one differs, every intermediate value is compared, and the test names the first operator that is wrong.
 */

/** WebGPU, unless TEST_GPU_PROVIDER names another provider. */
const tested = (process.env.TEST_GPU_PROVIDER ?? 'webgpu') as ProviderName;

/**
 * Relative to the largest element. With 16 bits, a different order of summation changes the last bit of some products,
 * and the CPU only imitates the device.
 */
const tolerances: Readonly<Record<PrecisionName, number>> = { float32: 1e-4, bfloat16: 0.02, float16: 0.01 };

/**
 * Maximum residue of sums of numbers around 1 that cancel each other out, such as the gradient of a bias over pairs or,
 * with 16 bits, losses.
 */
const remainder = (name: string, precision: PrecisionName) =>
	precision !== 'float32' && name === 'loss' ? 1e-3 : 1e-7;

/** Precisions to test. SwiftShader has no 16-bit numbers (see kernels.test.ts). */
const precisions = precisionNames.filter((name) => name === 'float32' || (hardware && hasPrecision(tested, name)));

async function outputs(model: OnnxModel, feeds: Feeds, provider: string): Promise<Record<string, Tensor>> {
	const session = await Session.create(encodeOnnxModel(model), { provider, threads: 1 });
	try {
		return await session.run(feeds);
	} finally {
		await session.release();
	}
}

async function checkProgram({ graph, feeds }: ProgramCase, precision: PrecisionName): Promise<void> {
	const tolerance = tolerances[precision];
	const model = graph.model();
	const host = unfusedOnHost(precision === 'float32' ? model : roundedOnHost(model, precision));
	const [cpu, gpu] = [await outputs(host, feeds, 'cpu'), await outputs(model, feeds, runtimeNames[tested])];
	for (const [name, { data }] of Object.entries(cpu)) {
		const found = deviationOf(data as Float32Array, gpu[name]?.data as Float32Array);
		assert.ok(
			found.largest > 0 || /bias|probability/.test(name),
			`${name} is zero, so the case would pass without testing anything`,
		);
		if (found.deviation <= remainder(name, precision) || !differs(found, tolerance)) continue;
		const [expected, actual] = ['cpu', runtimeNames[tested]].map((provider) => ({ provider, graph })) as [
			PlacedProgram,
			PlacedProgram,
		];
		// The CPU has no kernels for 16 bits.
		const first = precision === 'float32' ? await firstDifference(expected, actual, feeds, tolerance) : null;
		assert.fail(`${name} differs: ${JSON.stringify(found)}; the first wrong value: ${JSON.stringify(first)}`);
	}
}

/** Whether a program rounds products to 16 bits. */
function rounds({ graph }: ProgramCase): boolean {
	return graph.model().nodes.some(({ op, attributes: { to } }) => op === 'Cast' && (to === 10 || to === 16));
}

/** Programs that differ for long contexts: heads in groups, and recomputed layers. */
const longContextPrograms = ['prefill', 'logprobs', 'gradient grpo old kl', 'value gradient labels'];

/** Declares the tests. @param seeds for random shapes, weights and inputs */
export function describePrograms(seeds: readonly number[]): void {
	for (const precision of precisions) describeWith(precision, seeds);
}

function describeWith(precision: PrecisionName, seeds: readonly number[]): void {
	const dialect = dialectOf(tested, precision);
	const suffix = precision === 'float32' ? '' : `, ${precision}`;
	describe(`every program computes the same on ${tested} as on the CPU${suffix}`, { skip }, async () => {
		const tensors = await Tensors.load();
		// Shaders are compiled once, not once per program.
		await holdDevice(tested);
		after(() => releaseDevice(tested));
		for (const seed of seeds) {
			const random = Random.of('gpu programs', seed);
			const shape = randomShape(random);
			for (const program of programCases(shape, random, { tensors, dialect })) {
				if (precision !== 'float32' && !rounds(program)) continue;
				test(`${program.name}, seed ${seed}${suffix}`, () => checkProgram(program, precision));
			}
			const long = { ...shape, context: 16_384, layers: 2, heads: 2, width: 16 };
			const cases = programCases(long, random, { tensors, dialect });
			for (const name of longContextPrograms) {
				const program = cases.find((one) => one.name === name);
				assert.ok(program !== undefined, `no program ${name}`);
				test(`${name}, long context, seed ${seed}${suffix}`, () => checkProgram(program, precision));
			}
		}
	});
}
