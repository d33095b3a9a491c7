import { Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { type BatchUse, cpuLimits, gpuLimits } from '../../core/memory/microBatchLimits.ts';
import type { LatentPlaces } from '../../core/text/latentTags.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { ModelShape } from '../shared/modelShape.ts';
import { type MicroBatch, microBatches } from './compute/batching.ts';
import { isStuck } from './compute/deviceFailure.ts';
import type {
	GradientJob,
	GradientResult,
	GradientTarget,
	LatentGradientJob,
	PackedSequences,
	TeacherRef,
} from './compute/jobs.ts';
import { packLatent } from './compute/latentLayout.ts';
import { MicroBatchRows, sizesOf } from './compute/microBatchRows.ts';
import { pack, packedBatches, packPerToken, unpackPerToken } from './compute/packing.ts';
import { loopProviders } from './compute/providers.ts';
import { sampleJob, samplesOf } from './compute/sampleRequest.ts';
import { SharedWeights } from './compute/sharedWeights.ts';
import { checkCount, type ModelMemory, settled, type TrainedModel } from './compute/trainedModel.ts';
import type { WorkerPool } from './compute/workerPool.ts';
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
import { parameterCount, parameterSpecs, valueParameterSpecs } from './model/parameters.ts';
import { checkLengths, checkPrompts } from './sequenceChecks.ts';
import {
	distillInputs,
	dpoInputs,
	grpoInputs,
	ppoInputs,
	rlooInputs,
	sftInputs,
	type UpdateInputs,
} from './updateInputs.ts';
import { ValueHeads } from './valueHeads.ts';

/** Minimum number of rows per worker. Fewer rows take just as long. */
const minSpread = 4;

/** Sizes of the model and of its micro-batches. */
export interface BatchSizes {
	readonly shape: ModelShape;
	/**
	 * Rows per micro-batch, for sampling and for log-probabilities and gradients. Results depend on these values, but not
	 * on `workers`.
	 */
	readonly sampleRows: number;
	readonly trainRows: number;
	/** Total memory of the GPU, in bytes; null or absent if unknown. */
	readonly deviceBytes?: number | null;
	/** Called with the reduced number of rows per micro-batch when GPU memory is full. */
	readonly onFewerRows?: (use: BatchUse, rows: number) => void;
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

interface LearnerParts {
	/** The workers that run programs, and helpers that only do arithmetic. */
	readonly pools: readonly [WorkerPool, WorkerPool];
	readonly memory: ModelMemory;
	readonly policy: TrainedModel;
	readonly execution: ExecutionReport;
}

/** Learner whose programs run in workers with onnxruntime. See `createLearner`. */
export class OrtLearner implements Learner {
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
	readonly #heads: ValueHeads;
	/** Serializes operations, because an update must not change weights while another operation is reading them. */
	readonly #operations = new Sequencer();
	/** Serializes sampling with the sampler's weights, which updates do not change. */
	readonly #sampling = new Sequencer();
	#running = 0;

	constructor(options: BatchSizes, { pools, memory, policy, execution }: LearnerParts) {
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
		this.#heads = new ValueHeads({
			...{ shape: this.shape, pool: this.#pool, memory, policy, rows: this.#rows },
			logprobs: (rows) => this.#logprobs(rows, this.#policy, 1),
		});
	}

	takeTraffic(): DeviceTraffic | null {
		return this.execution.provider === 'cpu' ? null : this.#pool.takeTraffic();
	}

	sample(request: SampleRequest): Promise<Sample[]> {
		checkPrompts(this.shape, request);
		const beside = request.of === 'sampler';
		const queue = <T>(run: () => Promise<T>) => (beside ? this.#sampling.queue(run) : this.#operation(run));
		return queue(async () => {
			const { prompts, maxNewTokens } = request;
			const prompt = prompts.reduce((n, tokens) => Math.max(n, tokens.length), 1);
			const most = typeof maxNewTokens === 'number' ? maxNewTokens : Math.max(0, ...maxNewTokens);
			// On a GPU, all rows start after the longest prompt, so some may need more slots than their own context.
			const shortest = prompts.reduce((n, tokens) => Math.min(n, tokens.length), prompt);
			const tokens = prompt + Math.max(0, Math.min(most, this.shape.context - shortest));
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
		return this.#update(rows, optimizer, sftInputs());
	}

	updateLatent(rows: readonly SftRow[], thoughts: LatentPlaces, optimizer: OptimizerSettings): Promise<UpdateResult> {
		return this.#stepWith(rows, optimizer, (size) => ({
			batches: microBatches(rows, size),
			compute: async (indices, gradient) => {
				const part = indices.map((i) => rows[i] as SftRow);
				checkLengths(this.shape, part);
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
		return this.#update(rows, optimizer, grpoInputs(rows, settings));
	}

	updateRloo(rows: readonly RlooRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult> {
		return this.#update(rows, optimizer, rlooInputs(rows, settings));
	}

	updatePpo(rows: readonly PpoRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult> {
		return this.#update(rows, optimizer, ppoInputs(rows, settings));
	}

	updateDpo(
		rows: readonly DpoRow[],
		settings: { readonly beta: number },
		optimizer: OptimizerSettings,
	): Promise<UpdateResult> {
		return this.#update(rows, optimizer, dpoInputs(rows, settings));
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
		const result = await this.#update(
			rows,
			optimizer,
			distillInputs(this.#teacherRef(), { soft, hard: alpha, temperature }),
		);
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
		return this.#heads.names;
	}

	addHead(head: HeadName, parameters?: Float32Array): Promise<void> {
		return this.#alone(() => this.#heads.add(head, parameters));
	}

	values(rows: readonly Sequence[], head: HeadName, logprobs?: readonly PerToken[]): Promise<PerToken[]> {
		return this.#operation(() => this.#heads.values(rows, head, logprobs));
	}

	updateHead(head: HeadName, rows: readonly ValueRow[], optimizer: OptimizerSettings): Promise<ValueUpdateResult> {
		return this.#operation(() => this.#heads.update(head, rows, optimizer));
	}

	updateRewardModel(rows: readonly Sequence[], optimizer: OptimizerSettings): Promise<ValueUpdateResult> {
		return this.#operation(() => this.#heads.updateRewardModel(rows, optimizer));
	}

	updateCritic(
		rows: readonly CriticRow[],
		settings: { readonly clipRange: number },
		optimizer: OptimizerSettings,
	): Promise<ValueUpdateResult> {
		return this.#operation(() => this.#heads.updateCritic(rows, settings, optimizer));
	}

	headState(head: HeadName): Promise<LearnerState> {
		return this.#alone(() => this.#heads.model(head).state());
	}

	headWeights(head: HeadName): Promise<Float32Array> {
		return this.#alone(() => this.#heads.model(head).weights());
	}

	restoreHead(head: HeadName, state: LearnerState): Promise<void> {
		return this.#alone(async () => {
			await this.#heads.add(head, state.parameters);
			await this.#heads.model(head).restore(state);
		});
	}

	resetHeadOptimizer(head: HeadName): Promise<void> {
		return this.#alone(() => this.#heads.model(head).resetOptimizer());
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

	#pack(rows: readonly Sequence[], indices: MicroBatch): PackedSequences {
		const part = indices.map((i) => rows[i] as Sequence);
		checkLengths(this.shape, part);
		return pack(part);
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
