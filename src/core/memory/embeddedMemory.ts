import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe, ResolvedStage } from '../recipe/resolvedRecipe.ts';
import type { Arithmetic } from './activations.ts';
import { assumedPromptTokens, batchPlan } from './batchPlan.ts';
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
/** Copies of the weights in each worker: session inputs and outputs, and gradients in the order of computation. */
const workerCopies = 6;
/** The same for a worker that only samples. */
const samplingCopies = 3;
/** Unused memory reserved by onnxruntime's allocator, as a fraction of the rest. */
const fragmentation = 0.25;
/** Approximate memory limit for micro-batch gradients that are waiting to be summed, as in the engine. */
const slotBytes = 512 * 2 ** 20;

const arithmetic: Arithmetic = { compute: 4, attention: 'eager', adapters: 0, padded: true };
const plainWeights = { frozenBits: null, shards: 1, replicas: 1 } as const;

/**
 * Estimates the memory of the embedded engine on the CPU: one process in which each worker computes a micro-batch. Throws
 * `unsupported` on a GPU, whose memory is not estimated.
 */
export function estimateEmbedded(recipe: ResolvedRecipe, facts: MemoryFacts): MemoryEstimate {
	if (facts.device !== 'cpu') {
		throw new Failure(
			'unsupported',
			'Memory of the embedded engine can be estimated only on the CPU.',
			'Set "device": "cpu" to estimate it.',
		);
	}
	const { shape, family } = facts.model;
	const parameters = countParameters(shape).total;
	const stages = recipe.stages.map((stage, index) => stageOf(recipe, facts, stage, index));
	const tensors = stages.length === 0 ? sampledBytes(recipe, facts) : Math.max(...stages.map(({ peak }) => peak));
	const overhead = Math.round(fixedBytes + fragmentation * tensors);
	const total = tensors + overhead;
	const { deviceBytes } = facts;
	return {
		parameters,
		trained: stages.length === 0 ? 0 : parameters,
		family,
		device: 'cpu',
		processes: 1,
		precision: 'float32',
		attention: 'eager',
		stages,
		tensors,
		overhead,
		vllm: 0,
		total,
		deviceBytes,
		fits: deviceBytes === null ? null : total <= deviceBytes,
		notes: ['Does not include reward processes.'],
		advice:
			deviceBytes === null || total <= deviceBytes
				? null
				: 'Use fewer workers, a smaller model, or shorter completions.',
	};
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
	// Stages without a plan, such as PPO, have a second model, whose batches are computed in micro-batches of the same
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
