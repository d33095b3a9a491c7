import { logRatios } from './importanceRatio.ts';
import type { ObjectiveRow, VespoShape } from './objective.ts';

/** Limits on log ratios, for tokens and for the whole completion. */
const logLimit = 20;
const lowerLogLimit = Math.log(1e-8);

/**
 * VESPO's weight for a completion, w^k exp(lambda (1 - w)) (arXiv:2602.10693), where w is the ratio of the whole completion
 * (the product over its tokens), relative to the sampling policy. It is 1 at w = 1, is detached, and multiplies -A logprob
 * of each token. TRL 1.13, `GRPOTrainer.get_gamma_weights`.
 */
export function vespoWeight(row: ObjectiveRow, shape: VespoShape): number {
	const { advantage } = row;
	let sum = row.samplerLogRatio ?? 0;
	for (const logRatio of logRatios(row, 'token')) sum += Math.min(Math.max(logRatio, -logLimit), logLimit);
	const logWeight = Math.min(Math.max(sum, lowerLogLimit), logLimit);
	const k = advantage >= 0 ? shape.kPositive : shape.kNegative;
	const lambda = Math.max(advantage >= 0 ? shape.lambdaPositive : shape.lambdaNegative, 1e-4);
	const weight = Math.exp(lambda + k * logWeight - lambda * Math.exp(logWeight));
	return Number.isFinite(weight) ? weight : 0;
}
