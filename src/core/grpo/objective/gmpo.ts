import { logRatios } from './importanceRatio.ts';
import type { Objective, ObjectiveRow, RowLoss } from './objective.ts';

/**
 * GMPO: -A times the geometric mean of the token ratios, each clipped in log space to [-epsilonLow, epsilonHigh] on the
 * side where the advantage would push it further. The loss of a row is the same for each of its tokens, so with weights
 * of 1 / (rows * tokens) the batch loss is the mean over rows. Zhao et al. 2025 (arXiv:2507.20673), equation 4; TRL's
 * experimental `GMPOTrainer`.
 */
export function gmpoLoss(
	row: ObjectiveRow,
	{ epsilonLow, epsilonHigh }: Pick<Objective, 'epsilonLow' | 'epsilonHigh'>,
): RowLoss {
	const { advantage } = row;
	const ratios = logRatios(row, 'token');
	const tokens = ratios.length;
	const free = new Uint8Array(tokens);
	let sum = 0;
	for (const [t, logRatio] of ratios.entries()) {
		const bound = advantage > 0 ? Math.min(logRatio, epsilonHigh) : Math.max(logRatio, -epsilonLow);
		if (bound === logRatio) free[t] = 1;
		sum += bound;
	}
	const loss = -Math.exp(sum / Math.max(1, tokens)) * advantage;
	return {
		losses: new Float64Array(tokens).fill(loss),
		gradients: Float64Array.from(free, (isFree) => isFree * loss),
	};
}
