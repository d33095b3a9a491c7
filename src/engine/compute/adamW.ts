import { setImmediate } from 'node:timers/promises';
import { Failure } from '../../base/failure.ts';
import type { OptimiserSettings, ParameterSpec } from '../learner.ts';
import { elementCount } from '../model/parameters.ts';

/** Elements that are worked through before other events of the thread get their turn: some milliseconds. */
const stretch = 1 << 20;

/** A run of elements of the flat vector that are treated alike. */
interface Segment {
	readonly start: number;
	readonly end: number;
	readonly decay: boolean;
}

function segmentsOf(specs: readonly ParameterSpec[]): Segment[] {
	const segments: Segment[] = [];
	let start = 0;
	for (const { shape, decay } of specs) {
		const stop = start + elementCount(shape);
		for (; start < stop; start = Math.min(stop, start + stretch)) {
			segments.push({ start, end: Math.min(stop, start + stretch), decay });
		}
	}
	return segments;
}

/** Calls `work` for pieces of [0, length) in their order, letting other events in between. */
async function inStretches(length: number, work: (start: number, end: number) => void): Promise<void> {
	for (let start = 0; start < length; start += stretch) {
		if (start > 0) await setImmediate();
		work(start, Math.min(length, start + stretch));
	}
}

/** total += part, elementwise. */
export function addInto(total: Float32Array, part: Float32Array): Promise<void> {
	return inStretches(total.length, (start, end) => {
		for (let i = start; i < end; i++) total[i] = (total[i] as number) + (part[i] as number);
	});
}

/** sqrt of the sum of squares of all elements, in double precision. */
export async function globalNorm(gradient: Float32Array): Promise<number> {
	let sum = 0;
	await inStretches(gradient.length, (start, end) => {
		let part = sum;
		for (let i = start; i < end; i++) part += (gradient[i] as number) * (gradient[i] as number);
		sum = part;
	});
	return Math.sqrt(sum);
}

/** What a gradient is multiplied by so that its norm is at most `maxNorm` (torch.nn.utils.clip_grad_norm_); 0: no limit. */
export function clipScale(norm: number, maxNorm: number): number {
	return maxNorm > 0 ? Math.min(1, maxNorm / (norm + 1e-6)) : 1;
}

/**
 * AdamW (Loshchilov and Hutter 2019, algorithm 2; the order of operations is torch.optim.AdamW's):
 * p -= lr decay p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps),
 * t being the number of updates. Decay applies to the parameters whose specs say so.
 */
export class AdamW {
	readonly firstMoments: Float32Array;
	readonly secondMoments: Float32Array;
	/** Since the last reset. */
	updates = 0;
	readonly #segments: readonly Segment[];

	constructor(specs: readonly ParameterSpec[]) {
		this.#segments = segmentsOf(specs);
		const count = this.#segments.at(-1)?.end ?? 0;
		this.firstMoments = new Float32Array(count);
		this.secondMoments = new Float32Array(count);
	}

	/**
	 * Changes `parameters` in place. Returns the global norm of the gradient before clipping. Throws `invalid`, and changes
	 * nothing, if the gradient is not finite: weights that became NaN could not be saved by any later update.
	 */
	async step(parameters: Float32Array, gradient: Float32Array, settings: OptimiserSettings): Promise<number> {
		const norm = await globalNorm(gradient);
		if (!Number.isFinite(norm)) {
			throw new Failure(
				'invalid',
				'The gradient of an update is not a finite number; the weights before it are kept.',
				'Resume from the last checkpoint with a lower learning_rate or max_grad_norm.',
			);
		}
		const scale = clipScale(norm, settings.maxGradNorm);
		this.updates++;
		let sinceBreak = 0;
		for (const segment of this.#segments) {
			if (sinceBreak >= stretch) {
				await setImmediate();
				sinceBreak = 0;
			}
			this.#apply(segment, parameters, gradient, scale, settings);
			sinceBreak += segment.end - segment.start;
		}
		return norm;
	}

	#apply(
		{ start, end, decay }: Segment,
		parameters: Float32Array,
		gradient: Float32Array,
		scale: number,
		{ learningRate, beta1, beta2, epsilon, weightDecay }: OptimiserSettings,
	): void {
		const { firstMoments, secondMoments, updates } = this;
		const stepSize = learningRate / (1 - beta1 ** updates);
		const inverseRoot = 1 / Math.sqrt(1 - beta2 ** updates);
		const keep = decay ? 1 - learningRate * weightDecay : 1;
		for (let i = start; i < end; i++) {
			const g = (gradient[i] as number) * scale;
			const m = beta1 * (firstMoments[i] as number) + (1 - beta1) * g;
			const v = beta2 * (secondMoments[i] as number) + (1 - beta2) * g * g;
			firstMoments[i] = m;
			secondMoments[i] = v;
			parameters[i] = (parameters[i] as number) * keep - (stepSize * m) / (Math.sqrt(v) * inverseRoot + epsilon);
		}
	}

	reset(): void {
		this.firstMoments.fill(0);
		this.secondMoments.fill(0);
		this.updates = 0;
	}
}
