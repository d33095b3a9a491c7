import { Failure } from '../../../base/failure.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import { initialParameters } from '../model/parameters.ts';
import { gradientProgram } from '../model/programs.ts';
import { Executor } from './executor.ts';
import { deviationOf, differs, firstDifference } from './firstDifference.ts';
import { holdDevice, releaseDevice } from './heldDevice.ts';
import type { GradientJob, OpenJob, OpenResult } from './jobs.ts';
import { pack } from './packing.ts';
import { ParameterStore } from './parameterStore.ts';
import { ProgramFeeds } from './programFeeds.ts';
import { dialects, type ProviderName, runtimeNames } from './providers.ts';
import { supportedProviders, Tensors } from './runtime.ts';

const probeShape: ModelShape = { vocabulary: 5, context: 6, width: 8, heads: 2, layers: 1, feedForward: 16 };

/** Relative tolerance. GPUs may round products to fewer bits. */
const tolerance = 0.02;

/**
 * Tries execution providers in order. Computes a small gradient with each and uses the first one that matches the CPU's
 * result and is not slower than the rival, if there is one. The last candidate is `cpu`, which is not checked.
 */
export async function probeProviders({ shape, providers, rival }: OpenJob): Promise<OpenResult> {
	const tensors = await Tensors.load();
	const tried: { provider: string; error: string }[] = [];
	for (const provider of providers) {
		if (provider === 'cpu') return { provider, tried };
		try {
			await checkResults(provider, tensors);
			if (rival) await checkSpeed(provider, tensors, shape, rival);
			return { provider, tried };
		} catch (error) {
			await releaseDevice(provider);
			tried.push({ provider, error: error instanceof Error ? error.message : String(error) });
		}
	}
	throw new Failure('unavailable', `None of the execution providers ${providers.join(', ')} works on this machine.`);
}

/** Throws unless a provider exists and computes the numbers of the CPU. */
async function checkResults(provider: ProviderName, tensors: Tensors): Promise<void> {
	if (!(await supportedProviders()).includes(runtimeNames[provider])) {
		throw new Error('not included in this build of the runtime');
	}
	await holdDevice(provider);
	const actual = await smallGradient(provider, tensors);
	const expected = await smallGradient('cpu', tensors);
	if (differs(deviationOf(expected, actual), tolerance)) {
		throw new Error(`it computed a wrong gradient for a small model${await culprit(provider, tensors)}`);
	}
}

/** The operator that a provider computes wrongly, as a clause. */
async function culprit(provider: ProviderName, tensors: Tensors): Promise<string> {
	const job = gradientJob(probeShape, 2, 4);
	const feeds = {
		...new ParameterStore(probeShape, tensors).feeds(job.weights),
		...new ProgramFeeds(probeShape, tensors).gradient(job, null),
	};
	const program = gradientProgram(probeShape, job.variant, 'float32', dialects[provider]);
	const found = await firstDifference(program, feeds, [runtimeNames.cpu, runtimeNames[provider]], tolerance);
	return found === null ? '' : `; the first wrong result is that of the operator ${found.operator}`;
}

async function smallGradient(provider: ProviderName, tensors: Tensors): Promise<Float32Array> {
	const executor = new Executor(probeShape, provider, tensors);
	const job = gradientJob(probeShape, 2, 4);
	await executor.gradient(job);
	await executor.release();
	return new Float32Array(job.gradient);
}

/**
 * Checks speed, because with software drivers or small models, a working provider can still be slower than CPU threads.
 */
async function checkSpeed(
	provider: ProviderName,
	tensors: Tensors,
	shape: ModelShape,
	{ workers, rows }: NonNullable<OpenJob['rival']>,
): Promise<void> {
	const own = await gradientTime(provider, tensors, shape, rows);
	const processor = (await gradientTime('cpu', tensors, shape, rows)) / workers;
	if (own <= processor) return;
	const figures = `${own.toFixed(1)} vs. ${processor.toFixed(1)} ms for ${rows} rows`;
	throw new Error(`the CPU is faster for this model (${figures})`);
}

/** Measures the time for a gradient in milliseconds, after compilation and warm-up. */
async function gradientTime(
	provider: ProviderName,
	tensors: Tensors,
	shape: ModelShape,
	rows: number,
): Promise<number> {
	const executor = new Executor(shape, provider, tensors);
	const job = gradientJob(shape, rows, Math.min(shape.context, 128));
	await executor.gradient(job);
	const start = performance.now();
	await executor.gradient(job);
	const time = performance.now() - start;
	await executor.release();
	return time;
}

function gradientJob(shape: ModelShape, rows: number, tokens: number): GradientJob {
	const parameters = initialParameters(shape, 1);
	const buffer = new SharedArrayBuffer(parameters.byteLength);
	new Float32Array(buffer).set(parameters);
	const batch = pack(
		Array.from({ length: rows }, (_, r) => ({
			tokens: Array.from({ length: tokens }, (_, t) => ((r * tokens + t) * 3) % shape.vocabulary),
			promptLength: 1,
		})),
	);
	return {
		kind: 'gradient',
		weights: { slot: 'policy', version: 1, buffer },
		variant: { kind: 'sft' },
		batch,
		temperature: 1,
		perToken: { weights: new Float32Array(rows * batch.kept).fill(1 / (rows * batch.kept)) },
		perRow: {},
		scalars: {},
		gradient: new SharedArrayBuffer(parameters.byteLength),
	};
}
