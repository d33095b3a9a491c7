import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe, ResolvedStage } from '../recipe/resolvedRecipe.ts';
import type { Arithmetic } from './activations.ts';
import { assumedPromptTokens, batchPlan } from './batchPlan.ts';
import { type EstimatedGpu, GpuStages, gpuFixedBytes } from './embeddedGpuMemory.ts';
import type { MemoryEstimate, MemoryFacts, StageEstimate } from './estimateRecipe.ts';
import { countParameters } from './parameterCounts.ts';
import { stageMemory } from './stageMemory.ts';

/*
 * The constants were fitted to the peak resident memory of engines with up to 19 million parameters; see
 * docs/memory.md.
 */

/** Engine without a model: Node.js and onnxruntime, in bytes. */
const fixedBytes = 160 * 2 ** 20;
/** Copies of the weights in the main thread: initial values, and values to write to a checkpoint. */
const mainCopies = 5;
/** Copies of the weights in each worker: session inputs and outputs, and gradients in computation order. */
const workerCopies = 6;
/** The same for a worker that only samples. */
const samplingCopies = 3;
/** Unused memory reserved by onnxruntime's allocator, as a fraction of the rest. */
const fragmentation = 0.25;
/** Approximate memory limit for micro-batch gradients waiting to be summed, as in the engine. */
const slotBytes = 512 * 2 ** 20;

const arithmetic: Arithmetic = { compute: 4, attention: 'eager', adapters: 0, padded: true };
const plainWeights = { frozenBits: null, shards: 1, replicas: 1 } as const;

/**
 * Estimates the embedded engine's memory use on a device. Throws `unsupported` for GPU providers whose memory has not
 * been measured.
 */
export function estimateEmbedded(recipe: ResolvedRecipe, facts: MemoryFacts): MemoryEstimate {
	const { tensors, overhead, stages, device, ...rest } =
		facts.device === 'cpu' ? onCpu(recipe, facts) : onGpu(recipe, facts);
	const { shape, family } = facts.model;
	const parameters = countParameters(shape).total;
	const total = tensors + overhead;
	const { deviceBytes } = facts;
	const fits = deviceBytes === null ? null : total <= deviceBytes;
	return {
		parameters,
		trained: stages.length === 0 ? 0 : parameters,
		family,
		device,
		processes: 1,
		precision: 'float32',
		attention: 'eager',
		stages,
		tensors,
		overhead,
		vllm: 0,
		total,
		deviceBytes,
		fits,
		notes: rest.notes,
		advice: fits === false ? rest.advice : null,
	};
}

interface DeviceEstimate extends Pick<MemoryEstimate, 'device' | 'tensors' | 'overhead' | 'stages' | 'notes'> {
	/** What to do if it does not fit. */
	readonly advice: string;
}

/** One process in which each worker computes a micro-batch. */
function onCpu(recipe: ResolvedRecipe, facts: MemoryFacts): DeviceEstimate {
	const stages = recipe.stages.map((stage, index) => stageOf(recipe, facts, stage, index));
	const tensors = stages.length === 0 ? sampledBytes(recipe, facts) : Math.max(...stages.map(({ peak }) => peak));
	return {
		device: 'cpu',
		stages,
		tensors,
		overhead: Math.round(fixedBytes + fragmentation * tensors),
		notes: ['Does not include reward processes.'],
		advice: 'Use fewer workers, a smaller model, or shorter completions.',
	};
}

function onGpu(recipe: ResolvedRecipe, facts: MemoryFacts): DeviceEstimate {
	const gpu = gpuOf(recipe);
	const counted = new GpuStages(recipe, facts, gpu);
	const stages = recipe.stages.map((stage, index) => counted.next(stage, index));
	const tensors = stages.length === 0 ? counted.sampled : Math.max(...stages.map(({ peak }) => peak));
	const notes = [
		`Estimated for ${gpu === 'cuda' ? 'CUDA' : 'WebGPU'}. Excludes memory used by other programs.`,
		'Micro-batches shrink when memory runs out, so a run can get by with less.',
	];
	if (recipe.device === 'auto') notes.push('The engine measures the available devices at startup and picks one.');
	if (facts.deviceBytes === null) notes.push('GPU memory is unknown; assumes full-size micro-batches.');
	return {
		device: gpu,
		stages,
		tensors,
		overhead: Math.round(gpuFixedBytes[gpu] + Math.max(0, counted.reserved - tensors)),
		notes,
		advice: 'Use a smaller "context", a smaller model, or set "device" to "cpu".',
	};
}

function gpuOf({ device }: ResolvedRecipe): EstimatedGpu {
	if (device === 'directml' || device === 'coreml') {
		throw new Failure(
			'unsupported',
			`Cannot estimate memory on ${device}: the embedded engine has not been measured there.`,
			'Set "device" to "cpu", "cuda" or "webgpu" to get an estimate.',
		);
	}
	// On a machine with an NVIDIA GPU, CUDA needs more than WebGPU.
	return device === 'webgpu' ? 'webgpu' : 'cuda';
}

function stageOf(recipe: ResolvedRecipe, facts: MemoryFacts, stage: ResolvedStage, index: number): StageEstimate {
	const { shape } = facts.model;
	const { workers, trainRows } = recipe;
	const settings = {
		processes: 1,
		microBatch: null,
		gradientCheckpointing: false,
		maxLength: shape.positions,
		vllm: false,
		promptTokens: facts.promptTokens,
		textTokens: facts.textTokens,
	};
	const plan = batchPlan(stage, settings, shape);
	// Stages without a plan, such as PPO, have a second model, whose batches are split into micro-batches of the same
	// size.
	const whole = plan?.rows ?? 4 * trainRows;
	const length = Math.min(plan?.length ?? shape.positions, shape.positions);
	const rows = Math.min(trainRows, whole);
	const reference = plan?.reference ?? true;
	const logits = { tokens: rows * length, classes: shape.vocabulary };
	const batch = { rows, length, passes: 1, logits, gradientCheckpointing: false, reference: false, generation: null };
	const { activations = 0, logits: logitBytes = 0 } = stageMemory(shape, arithmetic, plainWeights, batch).parts;
	const copy = 4 * countParameters(shape).total;
	const slots = Math.min(Math.ceil(whole / rows), Math.max(workers, Math.floor(slotBytes / copy)));
	const models = stage.type === 'ppo' ? 2 : 1;
	const parts = {
		weights: copy * models * (1 + mainCopies + workerCopies * workers),
		reference: reference ? copy * (1 + workers) : 0,
		optimizer: 2 * copy * models,
		gradients: copy * models * (1 + slots),
		activations: activations * workers,
		logits: logitBytes * workers,
	};
	const peak = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
	const kept = Object.fromEntries(Object.entries(parts).filter(([, bytes]) => bytes > 0));
	const moments = { backward: peak, optimizer: peak, generation: sampledBytes(recipe, facts) };
	return { parts: kept, peak, moment: 'backward', moments, stage: index, type: stage.type, rows, length };
}

/** Tensor memory of an engine that only samples, as in searches and evaluations. */
function sampledBytes({ workers, sampleRows }: ResolvedRecipe, { model, promptTokens }: MemoryFacts): number {
	const { shape } = model;
	const copy = 4 * countParameters(shape).total;
	const length = Math.max(shape.positions, promptTokens ?? assumedPromptTokens);
	const cache = 2 * 4 * shape.layers * shape.width * length * sampleRows;
	return copy * (1 + mainCopies + samplingCopies * workers) + cache * workers;
}
