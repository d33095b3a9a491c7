import { klEstimate } from '../kl.ts';
import { cispoTerm } from './cispo.ts';
import { clippedTerm } from './clipped.ts';
import { dppoTerm } from './dppo.ts';
import { gmpoLoss } from './gmpo.ts';
import { logRatios, throughRatios } from './importanceRatio.ts';
import type { Objective, ObjectiveRow, RowLoss, TokenTerm } from './objective.ts';
import { isOffPolicy } from './offPolicy.ts';
import { samplerRatioAt } from './samplerRow.ts';
import { sapoTerm } from './sapo.ts';
import { vespoWeight } from './vespo.ts';

/**
 * Returns the loss of each token in a row and the gradient of their sum, before weighting (`lossWeights.ts`). All tokens
 * in a row share one weight. This is the plain reference implementation of the engine's graph
 * (`src/engines/embedded/model/policyLoss.ts`); its values match TRL 1.13's `_compute_loss`.
 */
export function rowLoss(row: ObjectiveRow, objective: Objective): RowLoss {
	const { losses, gradients } = surrogate(row, objective);
	if (objective.offPolicyThreshold !== null && isOffPolicy(row, objective.offPolicyThreshold)) {
		losses.fill(0);
		gradients.fill(0);
	}
	if (row.penalties) addPenalties(row, row.penalties, losses, gradients);
	if (objective.beta !== 0) addKl(row, objective, losses, gradients);
	return { losses, gradients };
}

function surrogate(row: ObjectiveRow, objective: Objective): RowLoss {
	if (objective.lossType === 'gmpo') {
		if (row.factors) throw new RangeError('gmpo has one loss per completion, so its tokens cannot have factors.');
		return gmpoLoss({ ...row, advantage: row.advantage * samplerRatioAt(row, 0) }, objective);
	}
	const { logprobs, factors } = row;
	const ratios = logRatios(row, objective.level);
	const weight = objective.lossType === 'vespo' ? vespoWeight(row, objective.vespo) : 1;
	const term = (t: number): TokenTerm => {
		const [ratio, logprob] = [ratios[t] as number, logprobs[t] as number];
		// Every surrogate below is proportional to the advantage, for a given sign.
		const advantage = row.advantage * (factors?.[t] ?? 1) * samplerRatioAt(row, t);
		switch (objective.lossType) {
			case 'cispo':
				return cispoTerm(ratio, logprob, advantage, objective);
			case 'dppo_tv':
			case 'dppo_kl':
				return dppoTerm(ratio, logprob, advantage, objective);
			case 'sapo':
				return sapoTerm(ratio, advantage, objective.sapo);
			case 'vespo':
				return { loss: -weight * advantage * logprob, slope: 0, direct: -weight * advantage };
			default:
				return clippedTerm(ratio, advantage, objective);
		}
	};
	const terms = Array.from(ratios, (_, t) => term(t));
	const through = throughRatios(
		Float64Array.from(terms, ({ slope }) => slope),
		objective.level,
	);
	return {
		losses: Float64Array.from(terms, ({ loss }) => loss),
		gradients: through.map((slope, t) => slope + (terms[t] as TokenTerm).direct),
	};
}

/** Adds the penalty for diverging from the old policy to each token's loss. */
function addPenalties(
	row: ObjectiveRow,
	penalties: ArrayLike<number>,
	losses: Float64Array,
	gradients: Float64Array,
): void {
	for (const [t, logRatio] of logRatios(row, 'token').entries()) {
		const penalty = penalties[t] as number;
		losses[t] = (losses[t] as number) + penalty * Math.abs(logRatio);
		gradients[t] = (gradients[t] as number) + penalty * Math.sign(logRatio);
	}
}

/** Adds beta * k3 to each token's loss, times the ratio if the KL term is unbiased. */
function addKl(row: ObjectiveRow, objective: Objective, losses: Float64Array, gradients: Float64Array): void {
	const { logprobs, refLogprobs } = row;
	const { beta, unbiasedKl, level } = objective;
	if (refLogprobs === null) throw new RangeError('A KL term requires log-probabilities under the reference.');
	const ratios = unbiasedKl ? logRatios(row, level) : null;
	const slopes = new Float64Array(losses.length);
	for (let t = 0; t < losses.length; t++) {
		const [logprob, reference] = [logprobs[t] as number, refLogprobs[t] as number];
		const ratio = ratios === null ? 1 : Math.exp(ratios[t] as number);
		const kl = beta * ratio * klEstimate('k3', logprob, reference);
		losses[t] = (losses[t] as number) + kl;
		gradients[t] = (gradients[t] as number) - beta * ratio * Math.expm1(reference - logprob);
		if (ratios !== null) slopes[t] = kl;
	}
	const through = throughRatios(slopes, level);
	for (let t = 0; t < losses.length; t++) gradients[t] = (gradients[t] as number) + (through[t] as number);
}
