import type { OptimiserSettings, ParameterSpec } from '../learner.ts';
import { elementCount } from '../model/parameters.ts';

/** sqrt of the sum of squares of all elements, in double precision. */
export function globalNorm(gradient: Float32Array): number {
	let sum = 0;
	for (let i = 0; i < gradient.length; i++) sum += (gradient[i] as number) ** 2;
	return Math.sqrt(sum);
}

/** What a gradient is multiplied by so that its norm is at most `maxNorm` (torch.nn.utils.clip_grad_norm_); 0: no limit. */
export function clipScale(norm: number, maxNorm: number): number {
	return maxNorm > 0 ? Math.min(1, maxNorm / (norm + 1e-6)) : 1;
}

/**
 * AdamW (Loshchilov and Hutter 2019, algorithm 2; the order of operations is torch.optim.AdamW's), in place:
 * p -= lr decay p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps).
 * `update` is t, from 1. Decay applies to the parameters whose specs say so.
 */
export function adamW(
	parameters: Float32Array,
	gradient: Float32Array,
	firstMoments: Float32Array,
	secondMoments: Float32Array,
	specs: readonly ParameterSpec[],
	settings: OptimiserSettings,
	update: number,
	scale: number,
): void {
	const { learningRate, beta1, beta2, epsilon, weightDecay } = settings;
	const stepSize = learningRate / (1 - beta1 ** update);
	const inverseRoot = 1 / Math.sqrt(1 - beta2 ** update);
	let start = 0;
	for (const spec of specs) {
		const end = start + elementCount(spec.shape);
		const keep = spec.decay ? 1 - learningRate * weightDecay : 1;
		for (let i = start; i < end; i++) {
			const g = (gradient[i] as number) * scale;
			const m = beta1 * (firstMoments[i] as number) + (1 - beta1) * g;
			const v = beta2 * (secondMoments[i] as number) + (1 - beta2) * g * g;
			firstMoments[i] = m;
			secondMoments[i] = v;
			parameters[i] = (parameters[i] as number) * keep - (stepSize * m) / (Math.sqrt(v) * inverseRoot + epsilon);
		}
		start = end;
	}
}
