import { type Arithmetic, backwardBytes, blockActivations, residualBytes } from './activations.ts';
import type { ModelShape } from './modelShape.ts';
import { countAdapters, countParameters } from './parameterCounts.ts';

/** Categories of memory use. */
export type MemoryPart =
	| 'weights'
	| 'reference'
	| 'sampler'
	| 'optimizer'
	| 'gradients'
	| 'activations'
	| 'logits'
	| 'cache'
	| 'buckets'
	| 'gathered';

/** Phases in which a stage can reach its peak. */
export type MemoryMoment = 'backward' | 'optimizer' | 'generation';

/** Weight storage: trained weights in float32, frozen ones in the chosen precision or quantized. */
export interface WeightsPlan {
	/** Bits per frozen weight under adapters: 32, 16, 8, or 4. null if all weights are trained. */
	readonly frozenBits: 4 | 8 | 16 | 32 | null;
	/**
	 * Number of training processes that shard weights, gradients, and moments (FSDP; ZeRO stage 3), or 1 if unsharded.
	 */
	readonly shards: number;
	/**
	 * Number of training processes that each hold a full replica, with gradients reduced in buckets (DDP), or 1 without
	 * DDP.
	 */
	readonly replicas: number;
}

/** Batch that a process computes in a stage. */
export interface BatchPlan {
	/** Number of sequences per forward and backward pass. */
	readonly rows: number;
	/** Number of tokens in the longest sequence. */
	readonly length: number;
	/** Number of passes per update. */
	readonly passes: number;
	/** Dimensions of the logits in a pass: tokens and classes. */
	readonly logits: { readonly tokens: number; readonly classes: number };
	readonly gradientCheckpointing: boolean;
	/** Whether there is a second model, which is frozen. */
	readonly reference: boolean;
	/** Whether a copy of the model samples the next batches during training. */
	readonly ahead?: boolean;
	/**
	 * Concurrently sampled completions, with their prompt and total lengths in tokens. null if the stage does not sample.
	 */
	readonly generation: { readonly rows: number; readonly prompt: number; readonly length: number } | null;
}

export interface StageMemory {
	/** Bytes at the peak, by part. Empty parts are omitted. */
	readonly parts: Readonly<Partial<Record<MemoryPart, number>>>;
	/** Sum of the parts. */
	readonly peak: number;
	readonly moment: MemoryMoment;
	/** Bytes in each phase. */
	readonly moments: Readonly<Record<MemoryMoment, number>>;
}

/** Bits per weight in bitsandbytes, including scales: NormalFloat with double quantization, or LLM.int8. */
const quantizedBits = { 4: 4.127, 8: 8.03 } as const;

/**
 * Number of float32 copies of the logits that exist at the peak: logits divided by the temperature (or normalized), row
 * gradients, combined gradients, and gradients of the selected tokens.
 */
const logitCopies = 4;
/** Number of tokens whose logits TRL computes at a time in its default sft loss. */
export const logitChunk = 256;

/**
 * Computes the memory use of one process in a stage, in bytes, starting with its second update. Weights, gradients, and
 * AdamW's two moments take 16 bytes per trained parameter in float32 (Rajbhandari et al. 2020, section 3.1, which
 * assumes mixed precision with copies; autocast instead adds a smaller copy of each matrix during a pass, but no
 * gradients). Sharding divides these by the number of processes (stage 3 in that paper).
 */
export function stageMemory(shape: ModelShape, how: Arithmetic, weights: WeightsPlan, batch: BatchPlan): StageMemory {
	const counts = countParameters(shape);
	const { frozenBits, shards, replicas } = weights;
	const adapters = how.adapters > 0 ? countAdapters(shape, how.adapters) : 0;
	const trained = frozenBits === null ? counts.total : adapters;
	const frozen = frozenBits === null ? 0 : frozenBytes(counts, frozenBits);
	const autocast = how.compute === 2;
	const kept = {
		weights: (frozen + 4 * trained) / shards,
		// With adapters, the reference is the base model without them.
		reference: batch.reference && frozenBits === null ? (4 * counts.total) / shards : 0,
		sampler: batch.ahead === true ? 4 * counts.total : 0,
		optimizer: (8 * trained) / shards,
		// Buckets are in addition to the gradients.
		buckets: replicas > 1 ? 4 * trained : 0,
		// The current block plus the next one, which is prefetched.
		gathered: shards > 1 ? 2 * counts.block * how.compute : 0,
	};
	const gradients = (4 * trained) / shards;
	// Autocast keeps a smaller copy of each trained matrix until the end of the pass.
	const copies = autocast ? 2 * (frozenBits === null ? counts.matrices + shape.vocabulary * shape.width : adapters) : 0;
	const tokens = batch.rows * batch.length;
	const block = blockActivations(shape, how, batch.length);
	const between = batch.gradientCheckpointing ? residualBytes(shape, how) : block;
	// The last norm stores its input, the value scaled by its weight, and its output.
	const activations = copies + tokens * (shape.layers * between + 12 * shape.width);
	const through = tokens * backwardBytes(shape, how);
	const inBlock = through + (batch.gradientCheckpointing ? tokens * block : 0);
	const logits = logitCopies * 4 * batch.logits.tokens * batch.logits.classes;
	// Gradients from earlier passes exist from the start; those of this pass grow as activations are freed.
	const partial = batch.passes > 1 ? gradients : 0;
	const end = copies + tokens * block + through;
	const atStart: Parts =
		logits >= inBlock
			? { ...kept, gradients: partial, activations, logits }
			: { ...kept, gradients: partial, activations: activations + inBlock };
	const atEnd: Parts = { ...kept, gradients, activations: end };
	const backward = sumOf(atStart) >= sumOf(atEnd) ? atStart : atEnd;
	const optimizer: Parts = { ...kept, gradients };
	const number = frozenBits === null || frozenBits === 32 ? 4 : 2;
	const generation = batch.generation === null ? {} : generationParts(shape, number, batch.generation);
	// The next batches can be sampled during any phase.
	if (batch.ahead === true) for (const parts of [backward, optimizer]) addTo(parts, generation);
	const moments: Record<MemoryMoment, Parts> = {
		backward,
		optimizer,
		generation: { ...kept, ...generation },
	};
	const sums = Object.fromEntries(Object.entries(moments).map(([name, parts]) => [name, sumOf(parts)])) as Record<
		MemoryMoment,
		number
	>;
	const moment = (Object.keys(sums) as MemoryMoment[]).reduce((a, b) => (sums[b] > sums[a] ? b : a));
	const parts = Object.fromEntries(
		Object.entries(moments[moment])
			.map(([name, bytes]) => [name, Math.round(bytes)] as const)
			.filter(([, bytes]) => bytes > 0),
	);
	return { parts, peak: sumOf(parts), moment, moments: sums };
}

type Parts = Partial<Record<MemoryPart, number>>;

function addTo(parts: Parts, more: Parts): void {
	for (const [name, bytes] of Object.entries(more) as [MemoryPart, number][]) parts[name] = (parts[name] ?? 0) + bytes;
}

function sumOf(parts: Parts): number {
	return Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * Computes the size of frozen weights in bytes. Block matrices are quantized; embeddings, output matrix, and norms use
 * 16 bits.
 */
function frozenBytes(counts: ReturnType<typeof countParameters>, bits: 4 | 8 | 16 | 32): number {
	if (bits === 16 || bits === 32) return (bits / 8) * counts.total;
	return (quantizedBits[bits] / 8) * counts.matrices + 2 * (counts.total - counts.matrices);
}

/**
 * Computes the memory for sampling: keys and values for every token in every block (shared by grouped queries),
 * including old and new copies of the layer being written, plus next-token logits and sampling buffers; or, during
 * prefill, the keys and values of the prompts and the states of one block. TRL samples outside of autocast, so all
 * numbers have the same type as the weights.
 */
function generationParts(shape: ModelShape, number: 2 | 4, generation: NonNullable<BatchPlan['generation']>): Parts {
	const { layers, width, feedForward, expertsPerToken, keyHeads, headWidth } = shape;
	const { rows, prompt, length } = generation;
	const token = 2 * number * keyHeads * headWidth * (layers + 1);
	const states = number * (2 * width + Math.max(5 * width, (shape.gated ? 3 : 2) * feedForward * expertsPerToken));
	const written: Parts = { cache: rows * length * token, logits: logitCopies * 4 * rows * shape.vocabulary };
	const read: Parts = { cache: rows * prompt * token, activations: rows * prompt * states };
	return sumOf(written) >= sumOf(read) ? written : read;
}
