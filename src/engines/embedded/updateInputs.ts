import { Failure } from '../../base/failure.ts';
import type { GradientJob, PackedSequences, TeacherRef } from './compute/jobs.ts';
import { packPerToken } from './compute/packing.ts';
import type {
	DistillRow,
	DpoRow,
	GrpoRow,
	GrpoSettings,
	PerToken,
	PpoRow,
	RatioSettings,
	RlooRow,
	Sequence,
	SftRow,
} from './learner.ts';
import { policyScalars, policyVariant, ratioBounds } from './model/policyVariant.ts';
import type { GradientVariant } from './model/programs.ts';

/** Additional per-token inputs for a type of update. */
export interface UpdateInputs<Row extends Sequence> {
	readonly variant: GradientVariant;
	/** Number of consecutive rows to compute together. Default: 1. */
	readonly together?: number;
	readonly temperature: number;
	readonly teacher?: TeacherRef;
	perToken(rows: readonly Row[], batch: PackedSequences): GradientJob['perToken'];
	perRow(rows: readonly Row[]): GradientJob['perRow'];
	readonly scalars: GradientJob['scalars'];
}

/** For a given sign, every surrogate loss is proportional to the advantage. */
const tokenAdvantages = ({ advantage, factors }: GrpoRow): PerToken =>
	(factors as PerToken).map((factor) => factor * advantage);

/** Returns whether the rows in an update have old log-probabilities. */
function haveOld(rows: readonly { readonly oldLogprobs: PerToken | null }[]): boolean {
	const old = rows.some((row) => row.oldLogprobs !== null);
	if (old && rows.some((row) => row.oldLogprobs === null)) {
		throw new Failure('invalid', 'Either all rows in an update must have old log-probabilities, or none.');
	}
	return old;
}

/** Returns 1 for each completion token. */
function completionOnes({ tokens, promptLength }: Sequence): PerToken {
	return new Float32Array(tokens.length - promptLength).fill(1);
}

/** Returns 1 for each completion token if the row counts, and 0 otherwise. */
function countedTokens(row: RlooRow): PerToken {
	return row.weight === 0 ? new Float32Array(row.tokens.length - row.promptLength) : completionOnes(row);
}

/** Inputs for supervised fine-tuning. */
export function sftInputs(): UpdateInputs<SftRow> {
	return {
		variant: { kind: 'sft' },
		temperature: 1,
		perToken: (part, batch) => ({ weights: packPerToken(part, (i) => (part[i] as SftRow).weights, batch) }),
		perRow: () => ({}),
		scalars: {},
	};
}

/** Inputs for GRPO. Throws `invalid` if reference or old log-probabilities are missing. */
export function grpoInputs(rows: readonly GrpoRow[], settings: GrpoSettings): UpdateInputs<GrpoRow> {
	const old = haveOld(rows);
	const factors = rows.some((row) => row.factors !== undefined);
	const [entropy, penalties] = [rows.some((row) => row.entropyWeights), rows.some((row) => row.penalties)];
	const sampler = rows.some((row) => row.samplerLogRatio !== undefined || row.samplerDrift !== undefined);
	const observations = rows.some((row) => row.observationWeights);
	const variant = policyVariant(settings, { old, factors, entropy, penalties, observations, sampler });
	const { kl } = variant;
	if (kl && rows.some((row) => row.refLogprobs === null)) {
		throw new Failure('invalid', 'If beta is greater than 0, every row must have reference log-probabilities.');
	}
	return {
		variant,
		temperature: settings.temperature,
		perToken: (part, batch) => ({
			weights: packPerToken(part, (i) => (part[i] as GrpoRow).weights, batch),
			...(old ? { 'old logprobs': packPerToken(part, (i) => part[i]?.oldLogprobs as PerToken, batch) } : {}),
			...(kl ? { 'reference logprobs': packPerToken(part, (i) => part[i]?.refLogprobs as PerToken, batch) } : {}),
			...(factors ? { advantages: packPerToken(part, (i) => tokenAdvantages(part[i] as GrpoRow), batch) } : {}),
			...(variant.penalties ? { penalties: packPerToken(part, (i) => part[i]?.penalties as PerToken, batch) } : {}),
			...(variant.observations
				? { 'observation weights': packPerToken(part, (i) => part[i]?.observationWeights as PerToken, batch) }
				: {}),
			...(variant.entropy
				? { 'entropy weights': packPerToken(part, (i) => part[i]?.entropyWeights as PerToken, batch) }
				: {}),
		}),
		perRow: (part) => ({
			...(factors ? {} : { advantages: Float32Array.from(part, (row) => row.advantage) }),
			...(variant.samplerRatio
				? { 'sampler log ratio': Float32Array.from(part, (row) => row.samplerLogRatio as number) }
				: {}),
			...(variant.samplerDrift
				? { 'sampler drift': Float32Array.from(part, (row) => row.samplerDrift as number) }
				: {}),
		}),
		scalars: policyScalars(settings, variant),
	};
}

/** Inputs for RLOO. */
export function rlooInputs(rows: readonly RlooRow[], settings: RatioSettings): UpdateInputs<RlooRow> {
	const old = haveOld(rows);
	return {
		variant: { kind: 'rloo', old },
		temperature: settings.temperature,
		perToken: (part, batch) => ({
			weights: packPerToken(part, (i) => countedTokens(part[i] as RlooRow), batch),
			...(old ? { 'old logprobs': packPerToken(part, (i) => part[i]?.oldLogprobs as PerToken, batch) } : {}),
		}),
		perRow: (part) => ({
			advantages: Float32Array.from(part, (row) => row.advantage),
			'row weights': Float32Array.from(part, (row) => row.weight),
		}),
		scalars: old ? ratioBounds(settings) : {},
	};
}

/** Inputs for PPO's policy update. */
export function ppoInputs(rows: readonly PpoRow[], settings: RatioSettings): UpdateInputs<PpoRow> {
	const old = haveOld(rows);
	return {
		variant: { kind: 'ppo', old },
		temperature: settings.temperature,
		perToken: (part, batch) => ({
			weights: packPerToken(part, (i) => part[i]?.weights as PerToken, batch),
			advantages: packPerToken(part, (i) => part[i]?.advantages as PerToken, batch),
			...(old ? { 'old logprobs': packPerToken(part, (i) => part[i]?.oldLogprobs as PerToken, batch) } : {}),
		}),
		perRow: () => ({}),
		scalars: old ? ratioBounds(settings) : {},
	};
}

/** Inputs for DPO, where rows come in pairs. */
export function dpoInputs(rows: readonly DpoRow[], settings: { readonly beta: number }): UpdateInputs<DpoRow> {
	return {
		variant: { kind: 'dpo' },
		together: 2,
		temperature: 1,
		perToken: (part, batch) => ({
			weights: packPerToken(part, (i) => completionOnes(part[i] as DpoRow), batch),
		}),
		perRow: (part) => ({ 'reference logprobs': Float32Array.from(part, (row) => row.refLogprob) }),
		scalars: { beta: settings.beta, 'pair weight': 2 / rows.length },
	};
}

/** Inputs for distillation. `soft` and `hard`: weights of the teacher's and the data's tokens. */
export function distillInputs(
	teacher: TeacherRef,
	{ soft, hard, temperature }: { readonly soft: number; readonly hard: number; readonly temperature: number },
): UpdateInputs<DistillRow> {
	return {
		variant: { kind: 'distill' },
		temperature,
		teacher,
		perToken: (part, batch) => ({ weights: packPerToken(part, (i) => (part[i] as DistillRow).weights, batch) }),
		perRow: () => ({}),
		scalars: { soft, hard },
	};
}
