import type { ResolvedRecipe, ResolvedStage } from '../recipe/resolvedRecipe.ts';
import { assumedPromptTokens, batchPlan } from './batchPlan.ts';
import type { MemoryFacts, StageEstimate } from './estimateRecipe.ts';
import { fittingRows, gpuLimits, gpuRows } from './microBatchLimits.ts';
import { countParameters } from './parameterCounts.ts';
import { cacheBytes, gradientBytes, layerBytes, type RowShape } from './rowBytes.ts';
import type { MemoryMoment, MemoryPart } from './stageMemory.ts';

/** Execution providers with memory estimates. */
export type EstimatedGpu = 'cuda' | 'webgpu';

/**
 * CUDA: every program has an arena that grows by doubling, so its size is a power of two. Fragmentation is assumed to
 * add this fraction to the bytes that must fit (docs/memory.md).
 */
const fragments = 0.2;

/**
 * WebGPU: freed buffers are kept by size for reuse, so different sizes add up even if they are never in use at the same
 * time. Both numbers are fitted (docs/memory.md): weight-sized intermediate values in AdamW, and the unused fraction of
 * buffers.
 */
const temporaries = 6;
const unused = 0.05;

/** Driver, libraries and compiled programs, in bytes. The value for WebGPU is an assumption. */
export const gpuFixedBytes: Readonly<Record<EstimatedGpu, number>> = { cuda: 600e6, webgpu: 200e6 };

/** Memory for the values of a forward pass, relative to what one layer's gradient keeps. */
const forwardShare = 0.6;
/** Number of live caches while a step replaces one with the next. */
const caches = 2;

type Parts = Partial<Record<MemoryPart, number>>;

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const sumOf = (parts: Parts) => sum(Object.values(parts));

/** Returns the larger of two numbers for each name. Missing names count as 0. */
function larger<K extends string>(
	some: Readonly<Partial<Record<K, number>>>,
	others: Readonly<Partial<Record<K, number>>>,
): Partial<Record<K, number>> {
	const all: Partial<Record<K, number>> = { ...some };
	for (const [name, value] of Object.entries(others) as [K, number][]) all[name] = Math.max(all[name] ?? 0, value);
	return all;
}

/** Returns the arena size of a program that needs this many bytes at once. */
function arena(bytes: number): number {
	return bytes === 0 ? 0 : 2 ** Math.ceil(Math.log2((1 + fragments) * bytes));
}

/** Row and token counts of a stage's largest micro-batches. */
interface StageBatch {
	readonly rows: number;
	readonly length: number;
	readonly sampled: number;
	readonly reference: boolean;
	readonly models: number;
}

/** Estimates GPU memory stage by stage. On CUDA, a run keeps the memory of earlier stages' programs. */
export class GpuStages {
	readonly #recipe: ResolvedRecipe;
	readonly #facts: MemoryFacts;
	readonly #gpu: EstimatedGpu;
	readonly #shape: RowShape;
	readonly #copy: number;
	/** CUDA: memory of each program so far, by name. */
	readonly #programs = new Map<string, Parts>();
	/** WebGPU: buffers so far, by purpose. */
	#buffers: Readonly<Partial<Record<string, number>>> = {};

	constructor(recipe: ResolvedRecipe, facts: MemoryFacts, gpu: EstimatedGpu) {
		this.#recipe = recipe;
		this.#facts = facts;
		this.#gpu = gpu;
		const { shape } = facts.model;
		this.#shape = { ...shape, context: shape.positions };
		this.#copy = 4 * countParameters(shape).total;
		const { temperature } = recipe.evaluate;
		this.#keep(temperature > 0 ? 'sampling' : 'greedy sampling', this.#evaluation);
		const { weights = 0, cache = 0 } = this.#evaluation;
		this.#keepBuffers({ weights, 'evaluation cache': cache });
	}

	/** Bytes used by an engine that only samples. */
	get sampled(): number {
		return sumOf(this.#evaluation);
	}

	/** Bytes that the runtime reserves for the stages so far, excluding the driver. */
	get reserved(): number {
		if (this.#gpu === 'cuda') return sum([...this.#programs.values()].map((parts) => arena(sumOf(parts))));
		return (1 + unused) * sum(Object.values(this.#buffers) as number[]);
	}

	next(stage: ResolvedStage, index: number): StageEstimate {
		const batch = this.#batchOf(stage);
		const { parts, moment, moments } = this.#gpu === 'cuda' ? this.#onCuda(batch, stage.type) : this.#resident(batch);
		const kept = Object.fromEntries(
			Object.entries(parts)
				.map(([part, bytes]) => [part, Math.round(bytes)] as const)
				.filter(([, bytes]) => bytes > 0),
		) as Parts;
		const { rows, length } = batch;
		return { parts: kept, peak: sumOf(kept), moment, moments, stage: index, type: stage.type, rows, length };
	}

	get #prompt(): number {
		return this.#facts.promptTokens ?? assumedPromptTokens;
	}

	/** The evaluation program. Its completions can be as long as those in training, or fill the context. */
	get #evaluation(): Parts {
		const { stages, evaluate } = this.#recipe;
		const limits = stages.map((stage) => ('max_completion_length' in stage ? (stage.max_completion_length ?? 0) : 0));
		const limit = Math.max(0, ...limits) || this.#shape.context;
		return this.#sampling(evaluate.problems, this.#prompt + limit);
	}

	#batchOf(stage: ResolvedStage): StageBatch {
		const { shape } = this.#facts.model;
		const settings = {
			...{ processes: 1, microBatch: null, gradientCheckpointing: false, maxLength: shape.positions, vllm: false },
			promptTokens: this.#facts.promptTokens,
			textTokens: this.#facts.textTokens,
		};
		const plan = batchPlan(stage, settings, shape);
		const length = Math.min(plan?.length ?? shape.positions, shape.positions);
		const most = Math.max(gpuRows.train, this.#recipe.trainRows);
		const fitting = fittingRows('train', this.#shape, this.#limits, { tokens: length });
		// Stages without a plan, such as PPO, train a second model.
		return {
			rows: Math.min(most, fitting, plan?.rows ?? most),
			length,
			sampled: plan === null ? most : (plan.generation?.rows ?? 0),
			reference: plan?.reference ?? true,
			models: plan === null ? 2 : 1,
		};
	}

	get #limits() {
		return gpuLimits(this.#gpu === 'cuda', this.#facts.deviceBytes);
	}

	/** Weights and cache, including copies, of a program that samples `rows` sequences of up to `length` tokens. */
	#sampling(rows: number, length: number): Parts {
		if (rows === 0) return {};
		const tokens = Math.min(this.#shape.context, length);
		const fitting = fittingRows('sample', this.#shape, this.#limits, {
			tokens,
			prompt: Math.min(tokens, this.#prompt),
		});
		const together = Math.min(rows, fitting, Math.max(gpuRows.sample, this.#recipe.sampleRows));
		return { weights: this.#copy, cache: caches * together * cacheBytes(this.#shape, tokens) };
	}

	#forward({ rows, length }: StageBatch): number {
		return forwardShare * rows * layerBytes(this.#shape, length);
	}

	/** Every program has its own memory, with its own copy of the weights; AdamW runs on the CPU. */
	#onCuda(batch: StageBatch, type: string) {
		const { rows, length, sampled, reference, models } = batch;
		this.#keep('sampling', this.#sampling(sampled, length));
		if (reference) this.#keep('log-probabilities', { reference: this.#copy, activations: this.#forward(batch) });
		this.#keep(type, {
			weights: models * this.#copy,
			gradients: models * this.#copy,
			activations: models * rows * gradientBytes(this.#shape, length),
		});
		const parts = added(...this.#programs.values());
		const moments: Record<MemoryMoment, number> = { backward: sumOf(parts), optimizer: 0, generation: 0 };
		return { parts, moment: 'backward' as const, moments };
	}

	/** Adds a program, or enlarges it if a later stage needs more. */
	#keep(program: string, parts: Parts): void {
		this.#programs.set(program, larger(this.#programs.get(program) ?? {}, parts));
	}

	#keepBuffers(buffers: Readonly<Record<string, number>>): void {
		this.#buffers = larger(this.#buffers, buffers);
	}

	/**
	 * Weights, moments and gradients stay on the device: the weights in two layouts, two moments, and the sum of the
	 * gradients. AdamW returns new weights and moments before the old ones are freed.
	 */
	#resident(batch: StageBatch) {
		const { rows, length, sampled, reference, models } = batch;
		const state: Parts = {
			weights: 2 * models * this.#copy,
			optimizer: 2 * models * this.#copy,
			reference: reference ? this.#copy : 0,
		};
		const backward = added(state, {
			gradients: 2 * models * this.#copy,
			activations: rows * gradientBytes(this.#shape, length),
		});
		const optimizer = added(state, { gradients: this.#copy, weights: 2 * this.#copy, optimizer: 2 * this.#copy });
		const { cache = 0 } = this.#sampling(sampled, length);
		const generation = added(state, { cache: Math.max(this.#evaluation.cache ?? 0, cache) });
		this.#keepBuffers({
			weights: sumOf(state),
			gradients: backward.gradients ?? 0,
			activations: backward.activations ?? 0,
			update: (4 + temporaries) * this.#copy,
			cache,
		});
		const all = { backward, optimizer, generation };
		const moments = { backward: sumOf(backward), optimizer: sumOf(optimizer), generation: sumOf(generation) };
		const moment = (Object.keys(moments) as MemoryMoment[]).reduce((a, b) => (moments[b] > moments[a] ? b : a));
		return { parts: all[moment], moment, moments };
	}
}

function added(...all: readonly Parts[]): Parts {
	const sum: Parts = {};
	for (const [part, bytes] of all.flatMap((parts) => Object.entries(parts) as [MemoryPart, number][])) {
		sum[part] = (sum[part] ?? 0) + bytes;
	}
	return sum;
}
