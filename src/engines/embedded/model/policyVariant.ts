import type { ClipRange } from '../../../core/grpo/objective/clipped.ts';
import type { Objective, RatioLevel } from '../../../core/grpo/objective/objective.ts';
import type { Graph, Value } from '../onnx/graph.ts';
import type { PolicyLossInputs, Surrogate } from './policyLoss.ts';

/** Options of a GRPO gradient program. Options that are false or have their default value are omitted. */
export interface PolicyVariant {
	readonly kind: 'grpo';
	/** Clips ratios relative to the given old log-probabilities. Without them, the ratio is exactly 1. */
	readonly old: boolean;
	readonly kl: boolean;
	/** Default: clip. */
	readonly surrogate?: Exclude<Surrogate['kind'], 'clip'>;
	readonly level?: Exclude<RatioLevel, 'token'>;
	readonly limited?: true;
	readonly unbiased?: true;
	readonly offPolicy?: true;
	/** Advantages per token instead of per row. */
	readonly perToken?: true;
	/** Entropy bonus. */
	readonly entropy?: true;
	/** Penalties for moving away from the old policy. */
	readonly penalties?: true;
	/** Loss for predicting the environment's tokens. */
	readonly observations?: true;
	/** Log ratios of completions to the policy that sampled them (vespo). */
	readonly samplerRatio?: true;
	/** Drift from the sampling policy, for off-policy completions. */
	readonly samplerDrift?: true;
}

/** Loss types with their own surrogate. */
const surrogates: Readonly<Record<Exclude<Surrogate['kind'], 'clip'>, true>> = {
	cispo: true,
	sapo: true,
	vespo: true,
	gmpo: true,
	dppo_tv: true,
	dppo_kl: true,
};

/** Row data in addition to tokens and advantages. */
export interface RowInputs {
	/** Old log-probabilities. */
	readonly old: boolean;
	/** Factors of the surrogate loss. */
	readonly factors?: boolean;
	/** Weights of the tokens' entropies. */
	readonly entropy?: boolean;
	/** Penalties for moving away from the old policy. Ignored without old log-probabilities. */
	readonly penalties?: boolean;
	/** Weights of the environment's tokens. */
	readonly observations?: boolean;
	/** Data about the sampling policy. */
	readonly sampler?: boolean;
}

/** Returns the program variant for an objective. */
export function policyVariant(
	objective: Objective,
	{ old, factors, entropy, penalties, observations, sampler }: RowInputs,
): PolicyVariant {
	const { lossType, level } = objective;
	const kl = objective.beta !== 0;
	const special = lossType in surrogates;
	return {
		kind: 'grpo',
		old,
		kl,
		...(special ? { surrogate: lossType as NonNullable<PolicyVariant['surrogate']> } : {}),
		...(level === 'token' ? {} : { level }),
		...(objective.delta === null || special ? {} : { limited: true }),
		...(objective.unbiasedKl && kl ? { unbiased: true } : {}),
		...(objective.offPolicyThreshold === null ? {} : { offPolicy: true }),
		...(factors ? { perToken: true } : {}),
		...(entropy ? { entropy: true } : {}),
		...(penalties && old ? { penalties: true } : {}),
		...(observations ? { observations: true } : {}),
		...(sampler && lossType === 'vespo' ? { samplerRatio: true } : {}),
		...(sampler && objective.offPolicyThreshold !== null ? { samplerDrift: true } : {}),
	};
}

/** Returns the bounds of a clipped ratio, as program inputs. */
export function ratioBounds({ epsilonLow, epsilonHigh }: ClipRange): Record<string, number> {
	return { 'ratio low': 1 - epsilonLow, 'ratio high': 1 + epsilonHigh };
}

/** Returns the scalar inputs of the variant's program, by name. */
export function policyScalars(objective: Objective, variant: PolicyVariant): Record<string, number> {
	const { epsilonLow, epsilonHigh, vespo } = objective;
	const scalars: Record<string, number> = {};
	if (variant.kl) scalars.beta = objective.beta;
	if (variant.limited) scalars['ratio limit'] = objective.delta as number;
	if (variant.offPolicy) scalars['off-policy threshold'] = objective.offPolicyThreshold as number;
	switch (variant.surrogate) {
		case undefined:
			if (variant.old) Object.assign(scalars, ratioBounds(objective));
			break;
		case 'cispo':
			scalars['ratio limit'] = epsilonHigh;
			break;
		case 'sapo':
			Object.assign(scalars, { 'sapo positive': objective.sapo.positive, 'sapo negative': objective.sapo.negative });
			break;
		case 'vespo':
			Object.assign(scalars, {
				'k positive': vespo.kPositive,
				'lambda positive': Math.max(vespo.lambdaPositive, 1e-4),
				'k negative': vespo.kNegative,
				'lambda negative': Math.max(vespo.lambdaNegative, 1e-4),
			});
			break;
		case 'dppo_tv':
		case 'dppo_kl':
			if (variant.old) Object.assign(scalars, { 'divergence low': epsilonLow, 'divergence high': epsilonHigh });
			break;
		case 'gmpo':
			Object.assign(scalars, { 'log ratio low': -epsilonLow, 'log ratio high': epsilonHigh });
	}
	return scalars;
}

/** Declares the inputs of the variant's program other than weights, and returns them. */
export function policyInputs(variant: PolicyVariant, graph: Graph): Omit<PolicyLossInputs, 'weights'> {
	const scalar = (name: string) => graph.input(name, []);
	const perToken = (name: string) => graph.input(name, ['rows', 'kept']);
	const perRow = (name: string) => graph.input(name, ['rows', 1]);
	return {
		advantages: graph.input('advantages', ['rows', variant.perToken ? 'kept' : 1]),
		surrogate: surrogateInputs(variant, scalar, perRow),
		...(variant.level ? { level: variant.level } : {}),
		...(variant.old ? { old: perToken('old logprobs') } : {}),
		...(variant.kl
			? {
					reference: {
						logprobs: perToken('reference logprobs'),
						beta: scalar('beta'),
						unbiased: variant.unbiased === true,
					},
				}
			: {}),
		...(variant.penalties ? { penalties: perToken('penalties') } : {}),
		...(variant.offPolicy ? { offPolicyThreshold: scalar('off-policy threshold') } : {}),
		...(variant.samplerDrift ? { samplerDrift: perRow('sampler drift') } : {}),
	};
}

type Input = (name: string) => Value;

function surrogateInputs(variant: PolicyVariant, scalar: Input, perRow: Input): Surrogate {
	switch (variant.surrogate) {
		case 'cispo':
			return { kind: 'cispo', limit: scalar('ratio limit') };
		case 'sapo':
			return { kind: 'sapo', positive: scalar('sapo positive'), negative: scalar('sapo negative') };
		case 'vespo':
			return {
				kind: 'vespo',
				...(variant.samplerRatio ? { shift: perRow('sampler log ratio') } : {}),
				shape: {
					kPositive: scalar('k positive'),
					lambdaPositive: scalar('lambda positive'),
					kNegative: scalar('k negative'),
					lambdaNegative: scalar('lambda negative'),
				},
			};
		case 'dppo_tv':
		case 'dppo_kl':
			return {
				kind: variant.surrogate,
				...(variant.old ? { range: { low: scalar('divergence low'), high: scalar('divergence high') } } : {}),
			};
		case 'gmpo':
			return { kind: 'gmpo', range: { low: scalar('log ratio low'), high: scalar('log ratio high') } };
		default:
			return {
				kind: 'clip',
				...(variant.old ? { range: { low: scalar('ratio low'), high: scalar('ratio high') } } : {}),
				...(variant.limited ? { limit: scalar('ratio limit') } : {}),
			};
	}
}
