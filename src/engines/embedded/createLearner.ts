import { Failure } from '../../base/failure.ts';
import { type BatchUse, gpuRows } from '../../core/memory/microBatchLimits.ts';
import type { DeviceName } from '../../protocol/recipeKeys/recipe.ts';
import type { PrecisionName } from '../../protocol/recipeKeys/torchRecipe.ts';
import type { ModelShape } from '../shared/modelShape.ts';
import { DeviceMemory } from './compute/deviceModel.ts';
import { HostMemory } from './compute/hostModel.ts';
import type { OpenJob, OpenResult } from './compute/jobs.ts';
import { hasPrecision, type ProviderName, providerCandidates, residentProviders } from './compute/providers.ts';
import { prepareEnvironment } from './compute/runtime.ts';
import type { ModelMemory } from './compute/trainedModel.ts';
import { WorkerPool } from './compute/workerPool.ts';
import type { ExecutionReport, Learner, TriedProvider } from './learner.ts';
import { checkShape, initialParameters, parameterCount } from './model/parameters.ts';
import { type BatchSizes, OrtLearner } from './ortLearner.ts';

/** Initial weights are either drawn from the seed or given explicitly. */
export type LearnerOptions = LearnerSizes & ({ readonly seed: number } | { readonly parameters: Float32Array });

export interface LearnerSizes extends BatchSizes {
	readonly device: DeviceName;
	/** Type to which layers round the operands of matrix products; default: float32. All other types require a GPU. */
	readonly precision?: PrecisionName;
	/** Device used in an earlier attempt, which `auto` reuses if it can. */
	readonly preferred?: ProviderName;
	/** Number of worker threads. A GPU needs only one. */
	readonly workers: number;
	/** Rows per micro-batch, if an earlier attempt on a GPU had to reduce their number. */
	readonly reducedRows?: ReducedRows;
}

export type ReducedRows = Readonly<Partial<Record<BatchUse, number>>>;

/** Worker script next to this file, either as TypeScript or bundled. */
const workerScript = (): URL =>
	import.meta.url.endsWith('.ts') ? new URL('./worker.ts', import.meta.url) : new URL('./worker.js', import.meta.url);

/**
 * Starts the compute workers. Throws `invalid` if the sizes are invalid, `unavailable` if the runtime cannot be loaded,
 * or `unsupported` if a named device cannot be used.
 */
export async function createLearner(options: LearnerOptions): Promise<Learner> {
	checkShape(options.shape);
	const count = parameterCount(options.shape);
	const parameters = 'seed' in options ? initialParameters(options.shape, options.seed) : options.parameters;
	if (parameters.length !== count) {
		throw new Failure('mismatch', `The model has ${count} parameters, but ${parameters.length} were given.`);
	}
	prepareEnvironment();
	const pool = new WorkerPool(workerScript());
	const helpers = new WorkerPool(workerScript());
	try {
		pool.add();
		const threads = Math.max(1, options.workers);
		const { provider, tried, measured } = await open(pool, options, threads);
		const workers = provider === 'cpu' ? threads : 1;
		while (pool.size < workers) pool.add();
		const { shape, precision = 'float32' } = options;
		await pool.broadcast({ kind: 'open', shape, providers: [provider], precision, rival: null });
		const execution: ExecutionReport = { provider, workers, tried, measured };
		const memory = await memoryOf(options, execution, pool, helpers);
		const policy = await memory.create('policy', parameters);
		return new OrtLearner(provider === 'cpu' ? options : enlarged(options), {
			pools: [pool, helpers],
			memory,
			policy,
			execution,
		});
	} catch (error) {
		await Promise.all([pool.close(), helpers.close()]);
		throw error;
	}
}

/** Minimum number of parameters per helper, and maximum number of helpers, which is limited by memory bandwidth. */
const helperParameters = 1 << 17;
const maxHelpers = 8;

/**
 * Returns the kind of memory in which a provider's models are kept. If the optimizer's state is on the host, but a
 * single worker uses the device, helpers share the optimizer's arithmetic.
 */
async function memoryOf(
	{ shape, workers }: LearnerSizes,
	{ provider }: ExecutionReport,
	pool: WorkerPool,
	helpers: WorkerPool,
): Promise<ModelMemory> {
	if (residentProviders.includes(provider)) return new DeviceMemory(pool);
	const count = Math.min(maxHelpers, workers, Math.floor(parameterCount(shape) / helperParameters));
	if (provider === 'cpu' || count < 2) return new HostMemory(pool);
	const job: OpenJob = { kind: 'open', shape, providers: ['cpu'], precision: 'float32', rival: null };
	await Promise.all(
		Array.from({ length: count }, () => {
			helpers.add();
			// The new helper takes this job, because the earlier ones are still busy with theirs.
			return helpers.run(() => ({ job, transfer: [] }));
		}),
	);
	return new HostMemory(helpers);
}

/** Chooses the execution provider. Uses the preferred one without comparing times if it computes correctly. */
async function open(pool: WorkerPool, options: LearnerOptions, threads: number): Promise<OpenResult> {
	const { shape, device, precision = 'float32', preferred, trainRows } = options;
	const run = (providers: readonly ProviderName[], rival: OpenJob['rival']): Promise<OpenResult> =>
		pool.run(() => ({ job: { kind: 'open', shape, providers, precision, rival }, transfer: [] }));
	const candidates = providerCandidates(device, process.platform, process.arch);
	// The CPU computes only in float32, and a requested precision is never replaced by another.
	const providers = precision === 'float32' ? candidates : candidates.filter((provider) => provider !== 'cpu');
	if (preferred !== undefined && device === 'auto' && hasPrecision(preferred, precision)) {
		const others = providers.filter((provider) => provider !== preferred);
		const opened = await run([preferred, ...(precision === 'float32' ? (['cpu'] as const) : others)], null);
		if (opened.provider === preferred) return opened;
	}
	return run(providers, device === 'auto' ? { workers: threads, rows: trainRows } : null);
}

/** A checked GPU provider. `error` says why it cannot be used, or is null if it can. */
export type CheckedProvider = Omit<TriedProvider, 'error'> & { readonly error: string | null };

/** Checks each GPU provider that `auto` would try on this platform. */
export async function checkDevices(): Promise<CheckedProvider[]> {
	prepareEnvironment();
	const pool = new WorkerPool(workerScript());
	const shape: ModelShape = { vocabulary: 2, context: 2, width: 2, heads: 1, layers: 1, feedForward: 2 };
	try {
		pool.add();
		const checks: CheckedProvider[] = [];
		for (const provider of providerCandidates('auto', process.platform, process.arch)) {
			if (provider === 'cpu') continue;
			const job: OpenJob = { kind: 'open', shape, providers: [provider, 'cpu'], precision: 'float32', rival: null };
			const { tried } = await pool.run(() => ({ job, transfer: [] }));
			checks.push(tried[0] ?? { provider, error: null, faulty: false });
		}
		return checks;
	} finally {
		await pool.close();
	}
}

/** Increases micro-batch sizes for a GPU, which has room for many rows and takes just as long for a few. */
function enlarged(options: LearnerOptions): LearnerOptions {
	const { sampleRows, trainRows, reducedRows = {} } = options;
	const { sample = Infinity, train = Infinity } = reducedRows;
	return {
		...options,
		sampleRows: Math.min(sample, Math.max(sampleRows, gpuRows.sample)),
		trainRows: Math.min(train, Math.max(trainRows, gpuRows.train)),
	};
}
