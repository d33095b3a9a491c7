import { Failure } from '../../base/failure.ts';
import type { ResolvedPytorch, ResolvedRecipe, ResolvedStage } from '../recipe/resolvedRecipe.ts';
import type { Arithmetic, Attention } from './activations.ts';
import { assumedPromptTokens, batchPlan, updateRows } from './batchPlan.ts';
import type { ReadShape } from './modelShape.ts';
import { countAdapters, countParameters } from './parameterCounts.ts';
import { type StageMemory, stageMemory } from './stageMemory.ts';

/** Device type to estimate memory for. */
export type MemoryDevice = 'cpu' | 'cuda';

export interface MemoryFacts {
	readonly model: ReadShape;
	/** Number of tokens in the longest prompt, and in the longest prompt with its worked solution, or null if unknown. */
	readonly promptTokens: number | null;
	readonly textTokens: number | null;
	/** Device on which the recipe would run. */
	readonly device: MemoryDevice;
	/** Memory of a single device in bytes (the smallest GPU, or the machine), or null if unknown. */
	readonly deviceBytes: number | null;
}

export interface StageEstimate extends StageMemory {
	/** 0-based stage index in the recipe. */
	readonly stage: number;
	readonly type: ResolvedStage['type'];
	/** Number of rows per forward and backward pass, and number of tokens in the longest row. */
	readonly rows: number;
	readonly length: number;
}

/** Memory that a recipe requires, in bytes per process. */
export interface MemoryEstimate {
	readonly parameters: number;
	/** Number of trained parameters: all of them, or those of the adapters. */
	readonly trained: number;
	readonly family: string;
	readonly device: MemoryDevice | 'webgpu';
	readonly processes: number;
	readonly precision: 'float32' | 'bfloat16' | 'float16';
	readonly attention: Attention;
	readonly stages: readonly StageEstimate[];
	/** Tensor memory at the highest peak across all stages. */
	readonly tensors: number;
	/** Assumed non-tensor memory: device driver and libraries, and allocator overhead. */
	readonly overhead: number;
	/** Memory reserved for vLLM on the same GPU. */
	readonly vllm: number;
	/** Total on one device: for a single process on a GPU, or for all processes on the CPU. */
	readonly total: number;
	readonly deviceBytes: number | null;
	/** Whether the total fits in the device memory, or null if the device memory is unknown. */
	readonly fits: boolean | null;
	/** Assumptions, one sentence each. */
	readonly notes: readonly string[];
	/** One sentence that suggests a change to make the recipe fit, or null if none is needed or none was found. */
	readonly advice: string | null;
}

const gibibyte = 2 ** 30;
/** Per-process overhead: the CUDA context with library workspaces, or Python with torch. See docs/pytorch.md. */
const fixedOverhead = { cuda: 0.7 * gibibyte, cpu: 0.6 * gibibyte } as const;
/** Overhead of PyTorch's caching allocator on a GPU, as a fraction of tensor memory. */
const fragmentation = 0.06;

/** Returns whether the stage reads text of unknown length from its own file. */
function learnsFromFile(stage: ResolvedStage): boolean {
	return ('data' in stage && stage.data !== null) || 'pairs' in stage;
}

function processesOf(recipe: ResolvedRecipe, pytorch: ResolvedPytorch): number {
	return recipe.engine === 'ray' ? (recipe.ray?.workers ?? 1) : pytorch.processes;
}

/**
 * Estimates the memory that a recipe requires on the pytorch or ray engine. Throws `unsupported` for the embedded
 * engine, which embeddedMemory.ts covers, and if no stage runs on the engine.
 */
export function estimateRecipe(recipe: ResolvedRecipe, facts: MemoryFacts): MemoryEstimate {
	const { pytorch } = recipe;
	if (pytorch === undefined) {
		throw new Failure('unsupported', 'This estimate is for the pytorch and ray engines.');
	}
	const estimate = estimateOnce(recipe, pytorch, facts);
	return estimate.fits === false ? { ...estimate, advice: adviceFor(recipe, pytorch, facts) } : estimate;
}

function estimateOnce(recipe: ResolvedRecipe, pytorch: ResolvedPytorch, facts: MemoryFacts): MemoryEstimate {
	const { shape, family, known } = facts.model;
	const { lora } = pytorch;
	const processes = processesOf(recipe, pytorch);
	const precision = pytorch.precision ?? (facts.device === 'cuda' ? 'bfloat16' : 'float32');
	// Flash attention is used if it is installed; without it, more memory is needed.
	const attention = pytorch.attention === 'auto' ? 'sdpa' : pytorch.attention;
	const sharded = pytorch.strategy === 'fsdp' && processes > 1;
	const how: Arithmetic = {
		compute: precision === 'float32' ? 4 : 2,
		attention,
		adapters: lora?.r ?? 0,
		padded: true,
	};
	const stages: StageEstimate[] = [];
	for (const [index, stage] of recipe.stages.entries()) {
		const plan = batchPlan(
			stage,
			{
				processes,
				microBatch: pytorch.microBatch,
				gradientCheckpointing: pytorch.gradientCheckpointing,
				maxLength: pytorch.maxLength,
				vllm: pytorch.vllm !== null,
				promptTokens: facts.promptTokens,
				textTokens: pytorch.packing || learnsFromFile(stage) ? null : facts.textTokens,
			},
			shape,
		);
		if (plan === null) continue;
		const memory = stageMemory(
			shape,
			how,
			{
				frozenBits:
					lora === null
						? null
						: lora.quantize === '4bit'
							? 4
							: lora.quantize === '8bit'
								? 8
								: how.compute === 4
									? 32
									: 16,
				shards: sharded ? processes : 1,
				replicas: sharded ? 1 : processes,
			},
			plan,
		);
		stages.push({ ...memory, stage: index, type: stage.type, rows: plan.rows, length: plan.length });
	}
	if (stages.length === 0) {
		throw new Failure(
			'unsupported',
			'None of the stages run on the pytorch engine.',
			'Add a stage that the pytorch engine supports.',
		);
	}
	const tensors = Math.max(...stages.map(({ peak }) => peak));
	const cuda = facts.device === 'cuda';
	const overhead = Math.round(fixedOverhead[facts.device] + (cuda ? fragmentation * tensors : 0));
	const colocated = pytorch.vllm?.mode === 'colocate' ? pytorch.vllm.memory : 0;
	const vllm = Math.round(colocated * (facts.deviceBytes ?? 0));
	const total = (tensors + overhead) * (cuda ? 1 : processes) + vllm;
	return {
		parameters: countParameters(shape).total,
		trained: lora === null ? countParameters(shape).total : countAdapters(shape, lora.r),
		family,
		device: facts.device,
		processes,
		precision,
		attention,
		stages,
		tensors,
		overhead,
		vllm,
		total,
		deviceBytes: facts.deviceBytes,
		fits: facts.deviceBytes === null ? null : total <= facts.deviceBytes,
		notes: notesOf(recipe, pytorch, facts, known),
		advice: null,
	};
}

function notesOf(recipe: ResolvedRecipe, pytorch: ResolvedPytorch, facts: MemoryFacts, known: boolean): string[] {
	const notes: string[] = [];
	const samples = recipe.stages.some(({ type }) => type === 'grpo' || type === 'rloo');
	if (samples && facts.promptTokens === null) {
		notes.push(
			`Assumes prompts of ${assumedPromptTokens} tokens; the actual length is not known until the data is read.`,
		);
	}
	const reads = recipe.stages.some((stage) => learnsFromFile(stage) || 'labels' in stage);
	if (reads || (recipe.stages.some(({ type }) => type === 'sft') && facts.textTokens === null)) {
		notes.push(`Assumes training examples of "maxLength" (${pytorch.maxLength}) tokens.`);
	}
	if (!known) notes.push(`Unknown model family "${facts.model.family}"; assumes Llama blocks.`);
	if (pytorch.lora !== null && pytorch.lora.targets !== 'all-linear') {
		notes.push('Assumes an adapter on every matrix.');
	}
	if (pytorch.strategy === 'fsdp' || processesOf(recipe, pytorch) > 1) {
		notes.push('Memory shared between processes is calculated, not measured.');
	}
	return notes;
}

type Change = { readonly words: string; readonly settings: Partial<ResolvedPytorch> };

/** Returns the first settings change that makes the recipe fit, trying the cheapest first. */
function adviceFor(recipe: ResolvedRecipe, pytorch: ResolvedPytorch, facts: MemoryFacts): string {
	const updates = recipe.stages
		.map((stage) => updateRows(stage, processesOf(recipe, pytorch)))
		.filter((rows) => rows !== null);
	const rows = Math.min(Math.max(...updates), pytorch.microBatch ?? Number.POSITIVE_INFINITY);
	const smaller: number[] = [];
	for (let size = rows - 1; size >= 1; size--) {
		if (updates.every((update) => update <= size || update % size === 0)) smaller.push(size);
	}
	const checkpointing = { gradientCheckpointing: true };
	const lora = { r: 16, alpha: 32, dropout: 0, targets: 'all-linear', quantize: 'none' } as const;
	const changes: Change[] = [
		...smaller.map((microBatch) => ({ words: `"microBatch": ${microBatch}`, settings: { microBatch } })),
		...[rows, ...smaller].map((microBatch) => ({
			words: `"gradientCheckpointing": true${microBatch === rows ? '' : ` and "microBatch": ${microBatch}`}`,
			settings: { ...checkpointing, microBatch },
		})),
		...(pytorch.lora === null
			? [
					{
						words: '"lora": {}, "gradientCheckpointing": true, and "microBatch": 1',
						settings: { lora, ...checkpointing, microBatch: 1 },
					},
				]
			: []),
	];
	for (const { words, settings } of changes) {
		const changed = { ...pytorch, ...settings };
		if (estimateOnce({ ...recipe, pytorch: changed }, changed, facts).fits)
			return `It would fit with ${words} in "pytorch".`;
	}
	return 'Reducing the batch size is not enough. Use a smaller model, shorter completions, or a larger device.';
}
