import { Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { type BatchUse, cpuLimits, gpuLimits, gpuRows } from '../../core/memory/microBatchLimits.ts';
import type { LatentPlaces } from '../../core/text/latentTags.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { EngineDevice } from '../../protocol/engineDevices.ts';
import type { DeviceName } from '../../protocol/recipe/recipe.ts';
import type { PrecisionName } from '../../protocol/recipe/torchRecipe.ts';
import type { ModelShape } from '../shared/modelShape.ts';
import { type MicroBatch, microBatches } from './compute/batching.ts';
import { isStuck } from './compute/deviceFailure.ts';
import { DeviceMemory } from './compute/deviceModel.ts';
import { HostMemory } from './compute/hostModel.ts';
import type {
	GradientJob,
	GradientResult,
	GradientTarget,
	LatentGradientJob,
	OpenJob,
	OpenResult,
	PackedSequences,
	TeacherRef,
} from './compute/jobs.ts';
import { packLatent } from './compute/latentLayout.ts';
import { MicroBatchRows, sizesOf } from './compute/microBatchRows.ts';
import { pack, packedBatches, packPerToken, unpackPerToken } from './compute/packing.ts';
import {
	hasPrecision,
	loopProviders,
	type ProviderName,
	providerCandidates,
	residentProviders,
} from './compute/providers.ts';
import { prepareEnvironment } from './compute/runtime.ts';
import { sampleJob, samplesOf } from './compute/sampleRequest.ts';
import { SharedWeights } from './compute/sharedWeights.ts';
import { checkCount, type ModelMemory, settled, type TrainedModel } from './compute/trainedModel.ts';
import { type ValueInputs, ValueModel } from './compute/valueModel.ts';
import { WorkerPool } from './compute/workerPool.ts';
import type {
	CriticRow,
	DeviceTraffic,
	DistillRow,
	DistillSettings,
	DpoRow,
	ExecutionReport,
	GrpoRow,
	GrpoSettings,
	Learner,
	LearnerState,
	OptimizerSettings,
	ParameterSpec,
	PerToken,
	PpoRow,
	RatioSettings,
	RlooRow,
	Sample,
	SampleRequest,
	ScoredBy,
	Sequence,
	SftRow,
	UpdateResult,
	ValueRow,
	ValueUpdateResult,
} from './learner.ts';
import {
	checkShape,
	countOf,
	initialParameters,
	initialValueParameters,
	parameterCount,
	parameterSpecs,
	valueParameterSpecs,
} from './model/parameters.ts';
import { policyScalars, policyVariant, ratioBounds } from './model/policyVariant.ts';
import type { GradientVariant } from './model/programs.ts';

/** Initial weights are either drawn from the seed or given explicitly. */
export type LearnerOptions = LearnerSizes & ({ readonly seed: number } | { readonly parameters: Float32Array });

export interface LearnerSizes {
	readonly shape: ModelShape;
	readonly device: DeviceName;
	/** Type to which layers round the factors of their products; default: float32. Requires a GPU, unless float32. */
	readonly precision?: PrecisionName;
	/** Device used in an earlier attempt, which `auto` reuses if it can. */
	readonly preferred?: ProviderName;
	/** Number of worker threads. A GPU needs only one. */
	readonly workers: number;
	/**
	 * Rows per micro-batch, for sampling and for log-probabilities and gradients. Results depend on these values, but not
	 * on `workers`.
	 */
	readonly sampleRows: number;
	readonly trainRows: number;
	/** Total memory of the GPU, in bytes; null or absent if unknown. */
	readonly deviceBytes?: number | null;
	/** Rows per micro-batch on a GPU to which an earlier attempt had to reduce them. */
	readonly reducedRows?: ReducedRows;
	/** Called with the reduced number of rows per micro-batch when GPU memory is full. */
	readonly onFewerRows?: (use: BatchUse, rows: number) => void;
}

export type ReducedRows = Readonly<Partial<Record<BatchUse, number>>>;

/** Minimum number of rows per worker. Fewer rows take just as long. */
const minSpread = 4;

/** Worker script next to this file, either as TypeScript or bundled. */
const workerScript = (): URL =>
	import.meta.url.endsWith('.ts') ? new URL('./worker.ts', import.meta.url) : new URL('./worker.js', import.meta.url);

/**
 * Starts the compute workers. Throws `invalid` for impossible sizes, `unavailable` if the runtime cannot be loaded, or
 * `unsupported` if a named device cannot be used.
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
			// A new helper takes its own job, because the earlier ones are still performing theirs.
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

/** Checks each GPU provider that `auto` would try on this platform. */
export async function checkDevices(): Promise<EngineDevice[]> {
	prepareEnvironment();
	const pool = new WorkerPool(workerScript());
	const shape: ModelShape = { vocabulary: 2, context: 2, width: 2, heads: 1, layers: 1, feedForward: 2 };
	try {
		pool.add();
		const checks: EngineDevice[] = [];
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

/** For a given sign, every surrogate loss is proportional to the advantage. */
const tokenAdvantages = ({ advantage, factors }: GrpoRow): PerToken =>
	(factors as PerToken).map((factor) => factor * advantage);

/** Additional per-token inputs for a type of update. */
interface UpdateInputs<Row extends Sequence> {
	readonly variant: GradientVariant;
	/** Number of consecutive rows to compute together. Default: 1. */
	readonly together?: number;
	readonly temperature: number;
	readonly teacher?: TeacherRef;
	perToken(rows: readonly Row[], batch: PackedSequences): GradientJob['perToken'];
	perRow(rows: readonly Row[]): GradientJob['perRow'];
	readonly scalars: GradientJob['scalars'];
}

/** Micro-batches of an update, and how to compute the gradient of one. */
interface GradientParts {
	readonly batches: readonly MicroBatch[];
	/** Returns the result with its number of columns. */
	compute(
		indices: MicroBatch,
		gradient: GradientTarget,
	): Promise<{ readonly result: GradientResult; readonly kept: number }>;
}

/** Returns whether the rows in an update have old log-probabilities. */
function haveOld(rows: readonly { readonly oldLogprobs: PerToken | null }[]): boolean {
	const old = rows.some((row) => row.oldLogprobs !== null);
	if (old && rows.some((row) => row.oldLogprobs === null)) {
		throw new Failure('invalid', 'Either all rows in an update must have old log-probabilities, or none.');
	}
	return old;
}

/** Returns 1 for each completion token. */
function completionOnes({ tokens, promptLength }: Sequence): PerToken {
	return new Float32Array(tokens.length - promptLength).fill(1);
}

/** Returns 1 for each completion token if the row counts, and 0 otherwise. */
function countedTokens(row: RlooRow): PerToken {
	return row.weight === 0 ? new Float32Array(row.tokens.length - row.promptLength) : completionOnes(row);
}

/** Returns log-probabilities of 0, which make no token surprising. */
function unread(rows: readonly Sequence[]): PerToken[] {
	return rows.map(({ tokens, promptLength }) => new Float32Array(tokens.length - promptLength));
}

/** Returns 1 after the last token of a row, and 0 elsewhere. */
function lastPlace({ tokens, promptLength }: Sequence): PerToken {
	const places = new Float32Array(tokens.length - promptLength + 1);
	places[places.length - 1] = 1;
	return places;
}

interface LearnerParts {
	/** The workers that run programs, and helpers that only do arithmetic. */
	readonly pools: readonly [WorkerPool, WorkerPool];
	readonly memory: ModelMemory;
	readonly policy: TrainedModel;
	readonly execution: ExecutionReport;
}

class OrtLearner implements Learner {
	readonly shape: ModelShape;
	readonly parameters: readonly ParameterSpec[];
	readonly execution: ExecutionReport;
	readonly #rows: MicroBatchRows;
	readonly #pool: WorkerPool;
	readonly #helpers: WorkerPool;
	readonly #memory: ModelMemory;
	readonly #policy: TrainedModel;
	#reference: TrainedModel | null = null;
	#sampler: TrainedModel | null = null;
	#teacher: { readonly shape: ModelShape; readonly weights: SharedWeights } | null = null;
	readonly headParameters: readonly ParameterSpec[];
	readonly #heads = new Map<HeadName, ValueModel>();
	/** Serializes operations, because an update must not change weights while another operation is reading them. */
	readonly #operations = new Sequencer();
	/** Serializes sampling with the sampler's weights, which updates do not change. */
	readonly #sampling = new Sequencer();
	#running = 0;

	constructor(options: LearnerOptions, { pools, memory, policy, execution }: LearnerParts) {
		this.shape = options.shape;
		this.parameters = parameterSpecs(options.shape);
		this.headParameters = valueParameterSpecs(options.shape);
		this.execution = execution;
		const { provider } = execution;
		const limits =
			provider === 'cpu' ? cpuLimits : gpuLimits(loopProviders.includes(provider), options.deviceBytes ?? null);
		const most = { sample: options.sampleRows, train: options.trainRows };
		this.#rows = new MicroBatchRows(options.shape, most, limits, options.onFewerRows, (failure) =>
			isStuck(provider, failure),
		);
		[this.#pool, this.#helpers] = pools;
		this.#memory = memory;
		this.#policy = policy;
	}

	takeTraffic(): DeviceTraffic | null {
		return this.execution.provider === 'cpu' ? null : this.#pool.takeTraffic();
	}

	sample(request: SampleRequest): Promise<Sample[]> {
		this.#checkPrompts(request);
		const beside = request.of === 'sampler';
		const queue = <T>(run: () => Promise<T>) => (beside ? this.#sampling.queue(run) : this.#operation(run));
		return queue(async () => {
			const { prompts, maxNewTokens } = request;
			const prompt = prompts.reduce((n, tokens) => Math.max(n, tokens.length), 1);
			const most = typeof maxNewTokens === 'number' ? maxNewTokens : Math.max(0, ...maxNewTokens);
			const tokens = Math.min(this.shape.context, prompt + most);
			const even = Math.max(minSpread, Math.ceil(prompts.length / this.execution.workers));
			return this.#rows.fitting('sample', { count: prompts.length, tokens, prompt }, (max) =>
				this.#sample(request, request.spread === true ? Math.min(max, even) : max),
			);
		});
	}

	async #sample(request: SampleRequest, size: number): Promise<Sample[]> {
		const { prompts } = request;
		const parts = Array.from({ length: Math.ceil(prompts.length / size) }, (_, i) => {
			const from = request.of === 'teacher' ? this.#teacherRef() : null;
			const weights = from?.weights ?? (request.of === 'sampler' ? this.#samplerModel() : this.#policy).ref;
			const rows = sampleJob(request, i * size, Math.min(prompts.length, (i + 1) * size), weights);
			const job = from === null ? rows : { ...rows, teacher: from };
			return this.#pool.run(() => ({ job, transfer: [] }));
		});
		const results = await settled(parts);
		return results.flatMap((result, i) => samplesOf(request, i * size, result));
	}

	logprobs(rows: readonly Sequence[], of: ScoredBy, temperature: number): Promise<PerToken[]> {
		return this.#operation(async () => {
			const weights = of === 'policy' ? this.#policy : this.#reference;
			if (weights === null) throw new Failure('missing', 'No reference policy has been set.');
			return this.#logprobs(rows, weights, temperature);
		});
	}

	updateSft(rows: readonly SftRow[], optimizer: OptimizerSettings): Promise<UpdateResult> {
		return this.#update(rows, optimizer, {
			variant: { kind: 'sft' },
			temperature: 1,
			perToken: (part, batch) => ({ weights: packPerToken(part, (i) => (part[i] as SftRow).weights, batch) }),
			perRow: () => ({}),
			scalars: {},
		});
	}

	updateLatent(rows: readonly SftRow[], thoughts: LatentPlaces, optimizer: OptimizerSettings): Promise<UpdateResult> {
		return this.#stepWith(rows, optimizer, (size) => ({
			batches: microBatches(rows, size),
			compute: async (indices, gradient) => {
				const part = indices.map((i) => rows[i] as SftRow);
				this.#checkLengths(part);
				const batch = packLatent(part, thoughts);
				const kept = batch.after;
				const tokenWeights = packPerToken(part, (i) => (part[i] as SftRow).weights, { kept });
				const weights = this.#policy.ref;
				const job: LatentGradientJob = { kind: 'latent gradient', weights, batch, tokenWeights, gradient };
				return { result: await this.#pool.run(() => ({ job, transfer: [] })), kept };
			},
		}));
	}

	updateGrpo(rows: readonly GrpoRow[], settings: GrpoSettings, optimizer: OptimizerSettings): Promise<UpdateResult> {
		const old = haveOld(rows);
		const factors = rows.some((row) => row.factors !== undefined);
		const [entropy, penalties] = [rows.some((row) => row.entropyWeights), rows.some((row) => row.penalties)];
		const sampler = rows.some((row) => row.samplerLogRatio !== undefined || row.samplerDrift !== undefined);
		const observations = rows.some((row) => row.observationWeights);
		const variant = policyVariant(settings, { old, factors, entropy, penalties, observations, sampler });
		const { kl } = variant;
		if (kl && rows.some((row) => row.refLogprobs === null)) {
			throw new Failure('invalid', 'If beta is greater than 0, every row must have reference log-probabilities.');
		}
		return this.#update(rows, optimizer, {
			variant,
			temperature: settings.temperature,
			perToken: (part, batch) => ({
				weights: packPerToken(part, (i) => (part[i] as GrpoRow).weights, batch),
				...(old ? { 'old logprobs': packPerToken(part, (i) => part[i]?.oldLogprobs as PerToken, batch) } : {}),
				...(kl ? { 'reference logprobs': packPerToken(part, (i) => part[i]?.refLogprobs as PerToken, batch) } : {}),
				...(factors ? { advantages: packPerToken(part, (i) => tokenAdvantages(part[i] as GrpoRow), batch) } : {}),
				...(variant.penalties ? { penalties: packPerToken(part, (i) => part[i]?.penalties as PerToken, batch) } : {}),
				...(variant.observations
					? { 'observation weights': packPerToken(part, (i) => part[i]?.observationWeights as PerToken, batch) }
					: {}),
				...(variant.entropy
					? { 'entropy weights': packPerToken(part, (i) => part[i]?.entropyWeights as PerToken, batch) }
					: {}),
			}),
			perRow: (part) => ({
				...(factors ? {} : { advantages: Float32Array.from(part, (row) => row.advantage) }),
				...(variant.samplerRatio
					? { 'sampler log ratio': Float32Array.from(part, (row) => row.samplerLogRatio as number) }
					: {}),
				...(variant.samplerDrift
					? { 'sampler drift': Float32Array.from(part, (row) => row.samplerDrift as number) }
					: {}),
			}),
			scalars: policyScalars(settings, variant),
		});
	}

	updateRloo(rows: readonly RlooRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult> {
		const old = haveOld(rows);
		return this.#update(rows, optimizer, {
			variant: { kind: 'rloo', old },
			temperature: settings.temperature,
			perToken: (part, batch) => ({
				weights: packPerToken(part, (i) => countedTokens(part[i] as RlooRow), batch),
				...(old ? { 'old logprobs': packPerToken(part, (i) => part[i]?.oldLogprobs as PerToken, batch) } : {}),
			}),
			perRow: (part) => ({
				advantages: Float32Array.from(part, (row) => row.advantage),
				'row weights': Float32Array.from(part, (row) => row.weight),
			}),
			scalars: old ? ratioBounds(settings) : {},
		});
	}

	updatePpo(rows: readonly PpoRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult> {
		const old = haveOld(rows);
		return this.#update(rows, optimizer, {
			variant: { kind: 'ppo', old },
			temperature: settings.temperature,
			perToken: (part, batch) => ({
				weights: packPerToken(part, (i) => part[i]?.weights as PerToken, batch),
				advantages: packPerToken(part, (i) => part[i]?.advantages as PerToken, batch),
				...(old ? { 'old logprobs': packPerToken(part, (i) => part[i]?.oldLogprobs as PerToken, batch) } : {}),
			}),
			perRow: () => ({}),
			scalars: old ? ratioBounds(settings) : {},
		});
	}

	updateDpo(
		rows: readonly DpoRow[],
		settings: { readonly beta: number },
		optimizer: OptimizerSettings,
	): Promise<UpdateResult> {
		return this.#update(rows, optimizer, {
			variant: { kind: 'dpo' },
			together: 2,
			temperature: 1,
			perToken: (part, batch) => ({
				weights: packPerToken(part, (i) => completionOnes(part[i] as DpoRow), batch),
			}),
			perRow: (part) => ({ 'reference logprobs': Float32Array.from(part, (row) => row.refLogprob) }),
			scalars: { beta: settings.beta, 'pair weight': 2 / rows.length },
		});
	}

	setTeacher(shape: ModelShape, parameters: Float32Array): void {
		this.#checkIdle();
		const count = parameterCount(shape);
		if (parameters.length !== count || shape.vocabulary !== this.shape.vocabulary) {
			throw new Failure(
				'mismatch',
				`A teacher with ${count} parameters and ${shape.vocabulary} symbols is not compatible with this model.`,
			);
		}
		this.#teacher = { shape, weights: new SharedWeights('teacher', parameters) };
	}

	async updateDistill(
		rows: readonly DistillRow[],
		{ alpha, temperature }: DistillSettings,
		optimizer: OptimizerSettings,
	): Promise<UpdateResult & { readonly divergence: number }> {
		const soft = (1 - alpha) * temperature ** 2;
		const result = await this.#update(rows, optimizer, {
			variant: { kind: 'distill' },
			temperature,
			teacher: this.#teacherRef(),
			perToken: (part, batch) => ({ weights: packPerToken(part, (i) => (part[i] as DistillRow).weights, batch) }),
			perRow: () => ({}),
			scalars: { soft, hard: alpha },
		});
		let surprise = 0;
		for (const [i, row] of rows.entries()) {
			for (const [t, weight] of row.weights.entries()) surprise -= weight * (result.logprobs[i]?.[t] as number);
		}
		return { ...result, divergence: soft === 0 ? Number.NaN : (result.loss - alpha * surprise) / soft };
	}

	#teacherRef(): TeacherRef {
		if (this.#teacher === null) throw new Failure('missing', 'No teacher has been set.');
		return { shape: this.#teacher.shape, weights: this.#teacher.weights.ref };
	}

	policyParameters(): Promise<Float32Array> {
		return this.#operation(() => this.#policy.weights());
	}

	setSampler(parameters: Float32Array): Promise<void> {
		return this.#sampling.queue(async () => {
			checkCount(parameters, this.#policy.count);
			if (this.#sampler === null) this.#sampler = await this.#memory.create('sampler', parameters);
			else await this.#sampler.setWeights(parameters);
		});
	}

	#samplerModel(): TrainedModel {
		if (this.#sampler === null) throw new Failure('missing', 'No sampler has been set.');
		return this.#sampler;
	}

	setReference(): Promise<void> {
		return this.#alone(async () => {
			this.#reference = await this.#memory.copy(this.#policy, 'reference');
		});
	}

	get hasReference(): boolean {
		return this.#reference !== null;
	}

	referenceParameters(): Promise<Float32Array | null> {
		return this.#alone(async () => (await this.#reference?.weights()) ?? null);
	}

	restoreReference(parameters: Float32Array): Promise<void> {
		return this.#alone(async () => {
			checkCount(parameters, this.#policy.count);
			this.#reference = await this.#memory.create('reference', parameters);
		});
	}

	resetOptimizer(): Promise<void> {
		return this.#alone(() => this.#policy.resetOptimizer());
	}

	state(): Promise<LearnerState> {
		return this.#alone(() => this.#policy.state());
	}

	restore(state: LearnerState): Promise<void> {
		return this.#alone(() => this.#policy.restore(state));
	}

	get heads(): readonly HeadName[] {
		return [...this.#heads.keys()];
	}

	addHead(head: HeadName, parameters?: Float32Array): Promise<void> {
		return this.#alone(async () => {
			const initial = async () => initialValueParameters(this.shape, await this.#policy.weights());
			await this.#addHead(head, parameters ?? (await initial()));
		});
	}

	async #addHead(head: HeadName, parameters: Float32Array): Promise<void> {
		const count = countOf(this.headParameters);
		if (parameters.length !== count) {
			throw new Failure('mismatch', `The head has ${count} parameters, but ${parameters.length} values were given.`);
		}
		const before = this.#heads.get(head);
		if (before !== undefined) return before.model.setWeights(parameters);
		const model = await this.#memory.create(head, parameters);
		this.#heads.set(head, new ValueModel(this.#pool, head, model, this.#rows));
	}

	values(rows: readonly Sequence[], head: HeadName, logprobs?: readonly PerToken[]): Promise<PerToken[]> {
		return this.#operation(async () => {
			this.#checkLengths(rows);
			const model = this.#head(head);
			// A reward must not depend on the policy being scored, because training would then change the reward.
			const known = head === 'reward' ? unread(rows) : logprobs;
			return model.values(rows, known ?? (await this.#logprobs(rows, this.#policy, 1)));
		});
	}

	updateHead(head: HeadName, rows: readonly ValueRow[], optimizer: OptimizerSettings): Promise<ValueUpdateResult> {
		return this.#operation(async () => {
			this.#checkLengths(rows);
			const model = this.#head(head);
			const inputs: ValueInputs<ValueRow> = {
				variant: 'labels',
				perToken: { labels: ({ labels }) => labels, weights: ({ weights }) => weights },
				scalars: {},
			};
			return model.update(rows, await this.#logprobs(rows, this.#policy, 1), inputs, optimizer);
		});
	}

	updateRewardModel(rows: readonly Sequence[], optimizer: OptimizerSettings): Promise<ValueUpdateResult> {
		return this.#operation(async () => {
			this.#checkLengths(rows);
			const inputs: ValueInputs<Sequence> = {
				variant: 'pairs',
				together: 2,
				perToken: { weights: lastPlace },
				scalars: { 'pair weight': 2 / rows.length },
			};
			return this.#head('reward').update(rows, unread(rows), inputs, optimizer);
		});
	}

	updateCritic(
		rows: readonly CriticRow[],
		settings: { readonly clipRange: number },
		optimizer: OptimizerSettings,
	): Promise<ValueUpdateResult> {
		return this.#operation(async () => {
			this.#checkLengths(rows);
			const inputs: ValueInputs<CriticRow> = {
				variant: 'returns',
				perToken: {
					weights: ({ weights }) => weights,
					returns: ({ returns }) => returns,
					'old values': ({ oldValues }) => oldValues,
				},
				scalars: { 'clip range': settings.clipRange },
			};
			const logprobs = rows.map((row) => row.logprobs);
			return this.#head('critic').update(rows, logprobs, inputs, optimizer);
		});
	}

	headState(head: HeadName): Promise<LearnerState> {
		return this.#alone(() => this.#head(head).model.state());
	}

	headWeights(head: HeadName): Promise<Float32Array> {
		return this.#alone(() => this.#head(head).model.weights());
	}

	restoreHead(head: HeadName, state: LearnerState): Promise<void> {
		return this.#alone(async () => {
			await this.#addHead(head, state.parameters);
			await this.#head(head).model.restore(state);
		});
	}

	resetHeadOptimizer(head: HeadName): Promise<void> {
		return this.#alone(() => this.#head(head).model.resetOptimizer());
	}

	async dispose(): Promise<void> {
		await Promise.all([this.#pool.close(), this.#helpers.close()]);
	}

	#logprobs(rows: readonly Sequence[], weights: TrainedModel, temperature: number): Promise<PerToken[]> {
		return this.#rows.fitting('train', sizesOf(rows), (size) => this.#logprobsOf(rows, size, weights, temperature));
	}

	async #logprobsOf(
		rows: readonly Sequence[],
		size: number,
		weights: TrainedModel,
		temperature: number,
	): Promise<PerToken[]> {
		const output: PerToken[] = new Array(rows.length);
		await settled(
			packedBatches(rows, size, this.shape.width).map(async (indices) => {
				const batch = this.#pack(rows, indices);
				const { logprobs } = await this.#pool.run(() => ({
					job: { kind: 'logprobs', weights: weights.ref, batch, temperature },
					transfer: [batch.tokens.buffer, batch.targets.buffer],
				}));
				indices.forEach((row, i) => {
					output[row] = unpackPerToken(logprobs, rows[row] as Sequence, i, batch);
				});
			}),
		);
		return output;
	}

	async #operation<T>(run: () => Promise<T>): Promise<T> {
		this.#running++;
		try {
			return await this.#operations.queue(run);
		} finally {
			this.#running--;
		}
	}

	/** Runs an operation unless there is another one in progress. */
	async #alone<T>(run: () => Promise<T>): Promise<T> {
		this.#checkIdle();
		return this.#operation(run);
	}

	#checkIdle(): void {
		if (this.#running > 0) throw new Failure('busy', 'Another operation is in progress.');
	}

	#head(head: HeadName): ValueModel {
		const model = this.#heads.get(head);
		if (model === undefined) throw new Failure('missing', `The ${head} head has not been added.`);
		return model;
	}

	#checkPrompts(request: SampleRequest): void {
		if (request.seeds.length !== request.prompts.length) {
			throw new Failure(
				'invalid',
				`${request.prompts.length} prompts require the same number of seeds, but ${request.seeds.length} were given.`,
			);
		}
		for (const prompt of request.prompts) {
			if (prompt.length === 0) throw new Failure('invalid', 'A prompt has no tokens.');
			if (prompt.length < this.shape.context) continue;
			throw new Failure(
				'invalid',
				`A prompt with ${prompt.length} tokens leaves no room in the model's context of ${this.shape.context}.`,
				'Use a larger context or shorter prompts.',
			);
		}
	}

	#pack(rows: readonly Sequence[], indices: MicroBatch): PackedSequences {
		const part = indices.map((i) => rows[i] as Sequence);
		this.#checkLengths(part);
		return pack(part);
	}

	#checkLengths(rows: readonly Sequence[]): void {
		const longest = rows.reduce((n, row) => Math.max(n, row.tokens.length), 0);
		if (longest <= this.shape.context) return;
		throw new Failure(
			'invalid',
			`A sequence with ${longest} tokens exceeds the model's context of ${this.shape.context}.`,
			'Use a larger context or shorter data.',
		);
	}

	#update<Row extends Sequence>(
		rows: readonly Row[],
		optimizer: OptimizerSettings,
		inputs: UpdateInputs<Row>,
	): Promise<UpdateResult> {
		return this.#stepWith(rows, optimizer, (size) => ({
			batches: packedBatches(rows, size, this.shape.width, inputs.together),
			compute: (indices, gradient) => this.#gradient(rows, indices, inputs, gradient),
		}));
	}

	/** @param split returns the micro-batches of at most `size` rows and how to compute their gradients */
	#stepWith(
		rows: readonly Sequence[],
		optimizer: OptimizerSettings,
		split: (size: number) => GradientParts,
	): Promise<UpdateResult> {
		return this.#operation(async () => {
			const sum = await this.#rows.fitting('train', sizesOf(rows), (size) => this.#accumulate(rows, split(size)));
			const gradNorm = await this.#rows.afterwards('train', sizesOf(rows), () => this.#policy.step(optimizer));
			return { ...sum, gradNorm };
		});
	}

	async #accumulate(
		rows: readonly Sequence[],
		{ batches, compute }: GradientParts,
	): Promise<Omit<UpdateResult, 'gradNorm'>> {
		let loss = 0;
		const logprobs: PerToken[] = new Array(rows.length);
		const entropies: PerToken[] = new Array(rows.length);
		await this.#policy.accumulate(batches, compute, ({ result, kept }, indices) => {
			loss += result.loss;
			for (const [i, row] of indices.entries()) {
				logprobs[row] = unpackPerToken(result.logprobs, rows[row] as Sequence, i, { kept });
				entropies[row] = unpackPerToken(result.entropies, rows[row] as Sequence, i, { kept });
			}
		});
		return { loss, logprobs, entropies };
	}

	async #gradient<Row extends Sequence>(
		rows: readonly Row[],
		indices: MicroBatch,
		inputs: UpdateInputs<Row>,
		gradient: GradientTarget,
	) {
		const part = indices.map((i) => rows[i] as Row);
		const batch = this.#pack(rows, indices);
		const result = await this.#pool.run(() => {
			const job: GradientJob = {
				kind: 'gradient',
				weights: this.#policy.ref,
				variant: inputs.variant,
				batch,
				temperature: inputs.temperature,
				...(inputs.teacher === undefined ? {} : { teacher: inputs.teacher }),
				perToken: inputs.perToken(part, batch),
				perRow: inputs.perRow(part),
				scalars: inputs.scalars,
				gradient,
			};
			return { job, transfer: [batch.tokens.buffer, batch.targets.buffer] };
		});
		return { result, kept: batch.kept };
	}
}
