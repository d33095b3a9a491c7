/*
 * Estimates the cost of a GRPO step from the model size and datasheet figures, as a guide to choosing hardware. Ignores
 * kernel overhead, stragglers, and completions that finish early.
 */

export interface ModelShape {
	readonly name: string;
	readonly parameters: number;
	readonly layers: number;
	readonly width: number;
	/** Number of key/value heads, and the width of each head. */
	readonly keyValueHeads: number;
	readonly headWidth: number;
}

export interface Device {
	readonly name: string;
	/** Dense bfloat16 operations per second. */
	readonly flops: number;
	/** Memory bandwidth, bytes per second. */
	readonly bandwidth: number;
	/** Memory capacity, in bytes. */
	readonly memory: number;
	/** Bandwidth to other devices in the same machine, in bytes per second per direction. */
	readonly link: number;
}

export interface Workload {
	readonly prompts: number;
	/** Number of completions per prompt. */
	readonly group: number;
	readonly promptTokens: number;
	/** Mean number of tokens per completion. */
	readonly completionTokens: number;
	/**
	 * Number of forward passes in addition to the update: 1 for the reference (beta > 0) plus 1 for old log-probabilities
	 * (several updates per batch).
	 */
	readonly scoringPasses: number;
	readonly checkpointing: boolean;
}

/** Achieved fractions of datasheet performance. */
export interface Efficiency {
	/** Model FLOPs utilization in the forward and backward passes. */
	readonly training: number;
	/** Fraction of memory bandwidth used while decoding. */
	readonly decoding: number;
}

/** Typical values for well-utilized GPUs with vLLM; measure the first steps on a machine for actual values. */
export const usualEfficiency: Efficiency = { training: 0.35, decoding: 0.6 };

const bytesPerWeight = 2;

/** KV cache bytes per token in bfloat16: 2 x layers x heads x head width x 2. */
export function keyValueBytes({ layers, keyValueHeads, headWidth }: ModelShape): number {
	return 2 * layers * keyValueHeads * headWidth * bytesPerWeight;
}

/**
 * Operations per token in a forward pass: 2 N (Kaplan et al. 2020, section 2.1) plus 4 x layers x width x length for
 * attention (Chowdhery et al. 2022, appendix B; causal attention needs half of that). Forward and backward together
 * take three times as many.
 */
export function forwardFlops({ parameters, layers, width }: ModelShape, length: number): number {
	return 2 * parameters + 4 * layers * width * length;
}

/**
 * Tokens per second of one device that decodes `rows` sequences in parallel. Each step reads all weights, keys and
 * values (memory) and performs 2 N operations per row (compute); the slower of the two is the bottleneck (Pope et al.
 * 2022, section 2).
 */
export function decodeRate(
	model: ModelShape,
	device: Device,
	rows: number,
	length: number,
	efficiency: Efficiency = usualEfficiency,
): number {
	const read = model.parameters * bytesPerWeight + rows * length * keyValueBytes(model);
	const reading = read / (device.bandwidth * efficiency.decoding);
	const computing = (rows * forwardFlops(model, length)) / (device.flops * efficiency.training);
	return rows / Math.max(reading, computing);
}

/**
 * Bytes per device for weights, gradients and AdamW moments, sharded over `devices` by FSDP (Rajbhandari et al. 2020,
 * section 3; ZeRO-3): 18 per parameter in mixed precision (float32 weights, a bfloat16 copy, float32 gradients, two
 * float32 moments).
 */
export function stateBytes({ parameters }: ModelShape, devices: number): number {
	return (18 * parameters) / devices;
}

export interface StepCost {
	/** Generation time, in seconds. */
	readonly generate: number;
	readonly score: number;
	readonly update: number;
	/**
	 * Time to gather and reduce weights and gradients, in seconds. Assumes that communication does not overlap with
	 * compute, although it does in practice.
	 */
	readonly communicate: number;
	readonly total: number;
	/** Completion tokens per second: `generated` over the generation time, `trained` over the whole step. */
	readonly generated: number;
	readonly trained: number;
	/** Bytes per device for the model state and the KV cache of the device's rows, excluding activations. */
	readonly memory: number;
}

/** Estimates the cost of one generation batch with one update on `devices` devices that share the rows and state. */
export function stepCost(
	model: ModelShape,
	device: Device,
	devices: number,
	work: Workload,
	efficiency: Efficiency = usualEfficiency,
): StepCost {
	const rows = work.prompts * work.group;
	const length = work.promptTokens + work.completionTokens;
	const completions = rows * work.completionTokens;
	const tokens = rows * length;
	const perDevice = Math.max(1, rows / devices);
	// On average, half of each completion is in the cache.
	const seen = work.promptTokens + work.completionTokens / 2;
	const rate = decodeRate(model, device, perDevice, seen, efficiency) * Math.min(devices, rows);
	const generate = completions / rate;
	const pass = (tokens * forwardFlops(model, length)) / (devices * device.flops * efficiency.training);
	const score = work.scoringPasses * pass;
	const update = (work.checkpointing ? 4 : 3) * pass;
	// All-gather in the forward and backward passes plus reduce-scatter of gradients: three times the weights.
	const communicate =
		devices === 1 ? 0 : (3 * model.parameters * bytesPerWeight * ((devices - 1) / devices)) / device.link;
	const total = generate + score + update + communicate;
	return {
		generate,
		score,
		update,
		communicate,
		total,
		generated: completions / generate,
		trained: completions / total,
		memory: stateBytes(model, devices) + perDevice * length * keyValueBytes(model),
	};
}

const tera = 1e12;
const giga = 1e9;

export const knownModels: readonly ModelShape[] = [
	{ name: '0.5B', parameters: 0.494 * giga, layers: 24, width: 896, keyValueHeads: 2, headWidth: 64 },
	{ name: '1.5B', parameters: 1.54 * giga, layers: 28, width: 1536, keyValueHeads: 2, headWidth: 128 },
	{ name: '7B', parameters: 7.62 * giga, layers: 28, width: 3584, keyValueHeads: 4, headWidth: 128 },
	{ name: '32B', parameters: 32.8 * giga, layers: 64, width: 5120, keyValueHeads: 8, headWidth: 128 },
];

/** Figures from vendor datasheets. */
export const knownDevices: readonly Device[] = [
	{ name: 'RTX 4090', flops: 165 * tera, bandwidth: 1.008 * tera, memory: 24 * giga, link: 25 * giga },
	{ name: 'A100 80 GB', flops: 312 * tera, bandwidth: 2.039 * tera, memory: 80 * giga, link: 300 * giga },
	{ name: 'H100 80 GB', flops: 989 * tera, bandwidth: 3.35 * tera, memory: 80 * giga, link: 450 * giga },
	{ name: 'H200', flops: 989 * tera, bandwidth: 4.8 * tera, memory: 141 * giga, link: 450 * giga },
];
