import { Failure } from '../../../base/failure.ts';
import { gpuRows } from '../../../core/memory/microBatchLimits.ts';
import { timingText } from '../../../protocol/deviceEvent.ts';
import { type PrecisionName, precisionNames } from '../../../protocol/recipeKeys/torchRecipe.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { OptimizerSettings, ProviderTiming, TriedProvider } from '../learner.ts';
import { initialParameters, parameterSpecs } from '../model/parameters.ts';
import { gradientProgram } from '../model/programs.ts';
import { type Dialect, withProducts } from '../onnx/dialect.ts';
import { adamW, clipScale } from './adamW.ts';
import { Executor } from './executor.ts';
import { deviationOf, differs, firstDifference } from './firstDifference.ts';
import { holdDevice, releaseDevice } from './heldDevice.ts';
import type { GradientJob, OpenJob, OpenResult, SampleJob } from './jobs.ts';
import { pack, unpackPerToken } from './packing.ts';
import { ParameterStore } from './parameterStore.ts';
import { ProgramFeeds } from './programFeeds.ts';
import { dialectOf, dialects, hasPrecision, type ProviderName, reasonOf, remedies, runtimeNames } from './providers.ts';
import { supportedProviders, Tensors } from './runtime.ts';

const probeShape: ModelShape = { vocabulary: 5, context: 6, width: 8, heads: 2, layers: 1, feedForward: 16 };

/** Thrown if a provider's results differ from the CPU's. */
class WrongResult extends Error {}

/** Thrown if a device computes correctly in float32, but not with the recipe's precision. */
class NoPrecision extends Error {}

/**
 * Tolerance of the results, relative to the largest element. GPUs can round products to fewer bits. Gradients of the
 * small model deviate by 1.1% if products are rounded to bfloat16, and by 0.07% for float16.
 */
const toleranceOf = ({ products }: Dialect): number => (products === 'bfloat16' ? 0.05 : 0.02);

/**
 * Tries execution providers in order. Uses the first one whose results match the CPU's or, if `rival` is set, the one that
 * is fastest for the model. `cpu` is not checked. Throws `unsupported` if no candidate can be used.
 */
export async function probeProviders({ shape, providers, precision, rival }: OpenJob): Promise<OpenResult> {
	const tensors = await Tensors.load();
	const tried: TriedProvider[] = [];
	const measured: ProviderTiming[] = [];
	/** Providers worth comparing with each other and the CPU. */
	const candidates: ProviderTiming[] = [];
	const lacking: ProviderName[] = [];
	for (const provider of providers) {
		if (provider === 'cpu') {
			if (candidates.length === 0 || rival === null) return { provider, tried, measured };
			const own = await timingOfRival(tensors, shape, rival);
			return { ...(await fastest(tried, [...candidates, own])), measured: [...measured, own] };
		}
		try {
			await checkPrecision(provider, tensors, precision);
			const only = candidates.length === 0 && provider === providers.at(-1);
			if (rival === null || only) return { provider, tried, measured };
			// A slow device is better than none if the CPU is not an option.
			const most = providers.includes('cpu') ? maxFewMs : Infinity;
			const timing = await timingOfDevice(provider, tensors, { shape, precision, rival, most });
			measured.push(timing);
			candidates.push(timing);
		} catch (error) {
			await releaseDevice(provider);
			if (error instanceof TooSlow) measured.push(error.timing);
			if (error instanceof NoPrecision) lacking.push(provider);
			tried.push({ provider, error: reasonOf(error), faulty: error instanceof WrongResult });
		}
	}
	if (candidates.length > 0) return { ...(await fastest(tried, candidates)), measured };
	throw noDevice(tried, lacking, precision);
}

/** Returns why no device can be used. @param lacking devices that only lack support for the precision */
function noDevice(
	tried: readonly TriedProvider[],
	lacking: readonly ProviderName[],
	precision: PrecisionName,
): Failure {
	const [only] = tried;
	if (only === undefined) return new Failure('internal', 'No execution provider was given.');
	if (tried.length > 1) {
		const reasons = tried.map(({ provider, error }) => `${provider}: ${error}`).join('; ');
		const message = `No device here can compute in ${precision} (${reasons}).`;
		return new Failure('unsupported', message, 'Set "precision" to "float32".');
	}
	const { provider, error } = only;
	if (lacking.includes(provider)) {
		const action = `Set "precision" to ${alternatives(provider, precision)}.`;
		return new Failure('unsupported', `Cannot compute in ${precision} on ${provider}: ${error}.`, action);
	}
	if (precision === 'float32') {
		return new Failure('unsupported', `Cannot use the device ${provider}: ${error}.`, remedies[provider]);
	}
	const action = `${remedies[provider]} Other devices may also need "precision": "float32".`;
	return new Failure('unsupported', `Cannot use the device ${provider} in ${precision}: ${error}.`, action);
}

/** Returns the other precisions that a provider may support. */
function alternatives(provider: ProviderName, precision: PrecisionName): string {
	const others = precisionNames.filter((name) => name !== precision && hasPrecision(provider, name));
	return others.map((name) => `"${name}"`).join(' or ');
}

/** Throws unless a provider's results match the CPU's with the given precision. */
async function checkPrecision(provider: ProviderName, tensors: Tensors, precision: PrecisionName): Promise<void> {
	if (!hasPrecision(provider, precision)) throw new NoPrecision('the provider has no kernels for it');
	try {
		await checkResults(provider, tensors, dialectOf(provider, precision));
	} catch (error) {
		if (precision === 'float32' || error instanceof WrongResult) throw error;
		// If float32 fails for the same reason, the precision is not the problem.
		await checkResults(provider, tensors);
		throw new NoPrecision(reasonOf(error));
	}
}

/** Chooses the fastest provider, and releases the others. */
async function fastest(
	tried: readonly TriedProvider[],
	timings: readonly ProviderTiming[],
): Promise<Omit<OpenResult, 'measured'>> {
	const slower: TriedProvider[] = [];
	const total = ({ samplingMs, updateMs }: ProviderTiming) => samplingMs + updateMs;
	const best = timings.reduce((a, b) => (total(b) < total(a) ? b : a));
	const name = (provider: ProviderName) => (provider === 'cpu' ? 'CPU' : provider);
	for (const timing of timings) {
		if (timing === best || timing.provider === 'cpu') continue;
		const { provider, rows, tokens } = timing;
		const times = `${rows} completions of ${tokens} tokens: ${timingText(timing)}, ${name(best.provider)} ${timingText(best)}`;
		const faster = best.provider === 'cpu' ? 'the CPU is faster' : `${best.provider} is faster`;
		slower.push({ provider, error: `${faster} for this model (${times})`, faulty: false });
		await releaseDevice(provider);
	}
	return { provider: best.provider, tried: [...tried, ...slower] };
}

/**
 * Throws unless a provider exists and its results match the CPU's.
 * @param dialect dialect of the provider's programs
 */
export async function checkResults(
	provider: ProviderName,
	tensors: Tensors,
	dialect: Dialect = dialects[provider],
): Promise<void> {
	if (!(await supportedProviders()).includes(runtimeNames[provider])) {
		throw new Error(`onnxruntime-node for ${process.platform} ${process.arch} does not include it`);
	}
	await holdDevice(provider);
	const tolerance = toleranceOf(dialect);
	const executor = new Executor(probeShape, provider, tensors, dialect);
	const cpu = new Executor(probeShape, 'cpu', tensors);
	try {
		if (differs(deviationOf(await smallGradient(cpu), await smallGradient(executor)), tolerance)) {
			const operator = await wrongOperator(provider, tensors, dialect);
			throw new WrongResult(`it computed an incorrect gradient for a small model${operator}`);
		}
		if (executor.keepsState && differs(deviationOf(await hostUpdate(cpu), await deviceUpdate(executor)), tolerance)) {
			throw new WrongResult('it computed an incorrect update for a small model');
		}
		const { sampled, scored } = await sampleAndScore(executor, cpu);
		if (differs(deviationOf(scored, sampled), tolerance)) {
			throw new WrongResult('it computed wrong log-probabilities while sampling from a small model');
		}
	} finally {
		await executor.release();
		await cpu.release();
	}
}

/** Returns a clause naming the operator that a provider computes incorrectly. */
async function wrongOperator(provider: ProviderName, tensors: Tensors, dialect: Dialect): Promise<string> {
	const job = gradientJob(probeShape, 2, 4);
	const feeds = {
		...(await new ParameterStore(probeShape, tensors).feeds(job.weights)),
		...new ProgramFeeds(probeShape, tensors, dialect).gradient(job, null),
	};
	const graphFor = (dialect: Dialect) => gradientProgram(probeShape, job.variant, 'float32', dialect);
	const expected = { provider: runtimeNames.cpu, graph: graphFor(withProducts(dialect, null)) };
	const actual = { provider: runtimeNames[provider], graph: graphFor(dialect) };
	const found = await firstDifference(expected, actual, feeds, toleranceOf(dialect));
	return found === null ? '' : `; the first incorrect result comes from the operator ${found.operator}`;
}

async function smallGradient(executor: Executor): Promise<Float32Array> {
	const job = gradientJob(probeShape, 2, 4);
	const gradient = new SharedArrayBuffer(initialParameters(probeShape, 1).byteLength);
	await executor.gradient({ ...job, gradient });
	return new Float32Array(gradient);
}

/** The change is approximately proportional to the gradient, because epsilon is large. */
const probeSettings: OptimizerSettings = {
	learningRate: 1,
	beta1: 0.9,
	beta2: 0.99,
	epsilon: 1,
	weightDecay: 0.1,
	maxGradNorm: 0.1,
};

/** Returns how AdamW on the device changes the weights of a small model. */
async function deviceUpdate(executor: Executor): Promise<Float32Array> {
	const job = gradientJob(probeShape, 2, 4);
	await executor.gradient({ ...job, gradient: 'first' });
	const { slot } = job.weights;
	await executor.onDevice({ kind: 'step', slot, settings: probeSettings, update: 1, sum: true });
	const { weights } = await executor.loaded(slot, false);
	return changeOf(weights);
}

/** Returns the same for AdamW on the host. */
async function hostUpdate(executor: Executor): Promise<Float32Array> {
	const gradient = await smallGradient(executor);
	const parameters = initialParameters(probeShape, 1);
	const [firstMoments, secondMoments] = [gradient.map(() => 0), gradient.map(() => 0)];
	const norm = Math.sqrt(gradient.reduce((sum, x) => sum + x * x, 0));
	const specs = parameterSpecs(probeShape);
	const range = { start: 0, end: gradient.length };
	const vectors = { parameters, gradient, firstMoments, secondMoments };
	adamW(vectors, specs, probeSettings, 1, clipScale(norm, probeSettings.maxGradNorm), range);
	return changeOf(parameters);
}

function changeOf(weights: Float32Array): Float32Array {
	const before = initialParameters(probeShape, 1);
	return weights.map((x, i) => x - (before[i] as number));
}

/**
 * Samples with one executor. Returns the log-probabilities that this executor and the other one compute for the sampled
 * tokens.
 */
async function sampleAndScore(executor: Executor, other: Executor) {
	const job = sampleJob(probeShape, 3, 4);
	const { tokens, lengths, logprobs } = await executor.sample(job);
	const prompt = [...(job.prompts[0] as Int32Array)];
	let start = 0;
	const rows = Array.from(lengths, (length) => {
		const own = [...tokens.subarray(start, start + length)];
		start += length;
		return { tokens: [...prompt, ...own], promptLength: prompt.length };
	});
	const batch = pack(rows);
	const result = await other.logprobs({ kind: 'logprobs', weights: job.weights, batch, temperature: 1 });
	const scored = rows.flatMap((row, i) => [...unpackPerToken(result.logprobs, row, i, batch)]);
	return { sampled: logprobs, scored };
}

/** Thrown if a provider is not worth measuring further. */
class TooSlow extends Error {
	readonly timing: ProviderTiming;

	constructor(timing: ProviderTiming) {
		super(
			`it is too slow for this model (${timing.rows} completions of ${timing.tokens} tokens: ${timingText(timing)})`,
		);
		this.timing = timing;
	}
}

type Rival = NonNullable<OpenJob['rival']>;

const measuredSize = ({ rows }: Rival) => ({ rows: Math.max(rows, gpuRows.train), tokens: trainedTokens });

/** Measures speed, because with software drivers or small models, a working provider can still be slower than the CPU. */
async function timingOfDevice(
	provider: ProviderName,
	tensors: Tensors,
	{
		shape,
		precision,
		rival,
		most,
	}: Pick<OpenJob, 'shape' | 'precision'> & {
		readonly rival: Rival;
		/** Maximum time for `fewTokens`. */
		readonly most: number;
	},
): Promise<ProviderTiming> {
	const dialect = dialectOf(provider, precision);
	const few = await timingOf(provider, tensors, shape, fewTokens, dialect);
	if (few.samplingMs + few.updateMs > most) throw new TooSlow(few);
	return timingOf(provider, tensors, shape, measuredSize(rival), dialect);
}

/** Estimates the time for all CPU workers together from the time of one worker. */
async function timingOfRival(tensors: Tensors, shape: ModelShape, rival: Rival): Promise<ProviderTiming> {
	const { rows, tokens } = measuredSize(rival);
	const one = await timingOf('cpu', tensors, shape, { rows: rival.rows, tokens });
	const share = rows / rival.rows / rival.workers;
	return { ...one, rows, samplingMs: one.samplingMs * share, updateMs: one.updateMs * share };
}

/** Number of tokens per sampled completion, and per trained one. */
const [sampledTokens, trainedTokens] = [8, 128];

/**
 * A batch for which no GPU needs more than `maxFewMs`. Used first so that a software driver does not delay the start.
 */
const fewTokens = { rows: 4, tokens: 16 };
const maxFewMs = 2000;

/** Times a sampling batch and a gradient computation for the model, after compilation and warm-up. */
async function timingOf(
	provider: ProviderName,
	tensors: Tensors,
	shape: ModelShape,
	{ rows, tokens: most }: { readonly rows: number; readonly tokens: number },
	dialect: Dialect = dialects[provider],
): Promise<ProviderTiming> {
	const executor = new Executor(shape, provider, tensors, dialect);
	const tokens = Math.min(shape.context - 1, most);
	const few = Math.min(sampledTokens, tokens);
	const job = gradientJob(shape, rows, tokens + 1);
	const gradient: GradientJob = executor.keepsState ? { ...job, gradient: 'first' } : job;
	const sample = sampleJob(shape, rows, few);
	try {
		const updateMs = await secondTime(() => executor.gradient(gradient));
		const samplingMs = (await secondTime(() => executor.sample(sample))) * (tokens / few);
		return { provider, rows, tokens, samplingMs, updateMs };
	} finally {
		await executor.release();
	}
}

async function secondTime(run: () => Promise<unknown>): Promise<number> {
	await run();
	const start = performance.now();
	await run();
	return performance.now() - start;
}

function weightsOf(shape: ModelShape): GradientJob['weights'] {
	const parameters = initialParameters(shape, 1);
	const buffer = new SharedArrayBuffer(parameters.byteLength);
	new Float32Array(buffer).set(parameters);
	return { slot: 'policy', version: 1, buffer };
}

function gradientJob(shape: ModelShape, rows: number, tokens: number): GradientJob {
	const weights = weightsOf(shape);
	const batch = pack(
		Array.from({ length: rows }, (_, r) => ({
			tokens: Array.from({ length: tokens }, (_, t) => ((r * tokens + t) * 3) % shape.vocabulary),
			promptLength: 1,
		})),
	);
	return {
		kind: 'gradient',
		weights,
		variant: { kind: 'sft' },
		batch,
		temperature: 1,
		perToken: { weights: new Float32Array(rows * batch.kept).fill(1 / (rows * batch.kept)) },
		perRow: {},
		scalars: {},
		gradient: new SharedArrayBuffer(initialParameters(shape, 1).byteLength),
	};
}

/** Returns a job that samples diverging completions for a single prompt. No token ends them. */
function sampleJob(shape: ModelShape, rows: number, tokens: number): SampleJob {
	return {
		kind: 'sample',
		weights: weightsOf(shape),
		prompts: [Int32Array.of(0)],
		promptOf: new Int32Array(rows),
		seeds: Array.from({ length: rows }, (_, row) => `probe ${row}`),
		maxNewTokens: new Int32Array(rows).fill(tokens),
		temperature: 1,
		topP: 1,
		stop: [],
		alternatives: null,
	};
}
