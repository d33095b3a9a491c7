import { Failure } from '../../base/failure.ts';
import type { ModelShape } from '../learner.ts';
import { initialParameters } from '../model/parameters.ts';
import { Executor } from './executor.ts';
import type { OpenResult } from './jobs.ts';
import { type ProviderName, runtimeNames } from './providers.ts';
import { supportedProviders, Tensors } from './runtime.ts';

const probeShape: ModelShape = { vocabulary: 5, context: 6, width: 8, heads: 2, layers: 1, feedForward: 16 };

/** Relative: a graphics processor may round products to fewer bits. */
const tolerance = 0.02;

/**
 * Tries execution providers in order by computing a small gradient and comparing it with the processor's; the first that
 * agrees is taken. The last candidate is `cpu`, which is not compared.
 */
export async function probeProviders(candidates: readonly string[]): Promise<OpenResult> {
	const tensors = await Tensors.load();
	const supported = await supportedProviders();
	const tried: { provider: string; error: string }[] = [];
	for (const provider of candidates) {
		if (provider === 'cpu') return { provider, tried };
		try {
			const name = runtimeNames[provider as ProviderName];
			if (!supported.includes(name)) throw new Error('this build of the runtime does not have it');
			compare(await probe(name, tensors), await probe('cpu', tensors));
			return { provider, tried };
		} catch (error) {
			tried.push({ provider, error: error instanceof Error ? error.message : String(error) });
		}
	}
	throw new Failure('unavailable', `None of the execution providers ${candidates.join(', ')} works here.`);
}

async function probe(provider: string, tensors: Tensors): Promise<Float32Array> {
	const parameters = initialParameters(probeShape, 1);
	const buffer = new SharedArrayBuffer(parameters.byteLength);
	new Float32Array(buffer).set(parameters);
	const result = await new Executor(probeShape, provider, tensors).gradient({
		kind: 'gradient',
		weights: { slot: 'policy', version: 1, buffer },
		variant: { kind: 'sft' },
		batch: { rows: 1, tokens: 4, inputs: Int32Array.of(1, 3, 4, 3), targets: Int32Array.of(3, 4, 3, 2) },
		temperature: 1,
		perToken: { weights: Float32Array.of(0.25, 0.25, 0.25, 0.25) },
		perRow: {},
		scalars: {},
		gradient: new Float32Array(parameters.length),
	});
	return result.gradient;
}

function compare(actual: Float32Array, expected: Float32Array): void {
	const largest = expected.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
	actual.forEach((x, i) => {
		if (!(Math.abs(x - (expected[i] as number)) <= tolerance * largest)) {
			throw new Error('it computed a wrong gradient for a small model');
		}
	});
}
