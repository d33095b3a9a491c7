import type { FailureData } from '../../../base/failure.ts';
import type { HeadName } from '../../../protocol/control.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { OptimizerSettings, ScoredBy } from '../learner.ts';
import type { ModelKind } from '../model/parameters.ts';
import type { GradientVariant, ValueOutput, ValueVariant } from '../model/programs.ts';
import type { Range } from './adamW.ts';
import type { ProviderName } from './providers.ts';

/** Messages between the main thread and the workers. */

/** Location of a job's weights; a worker copies them once per version. */
export interface WeightsRef {
	readonly slot: ScoredBy | 'teacher' | HeadName;
	readonly version: number;
	readonly buffer: SharedArrayBuffer;
}

/** A second model beside the policy, with its own sizes. */
export interface TeacherRef {
	readonly shape: ModelShape;
	readonly weights: WeightsRef;
}

/** Tokens of rows concatenated, with shared prefixes stored only once; see `pack`. */
export interface PackedSequences {
	readonly rows: number;
	/** Tokens of the longest completion, at least 1. */
	readonly kept: number;
	/** Number of distinct prompts, and tokens of the longest without its last token, at least 1. */
	readonly groups: number;
	readonly prefix: number;
	/**
	 * Number of prompt tokens, and of tokens after which completion tokens are predicted, including the padding token.
	 */
	readonly shared: number;
	readonly own: number;
	/** [shared + own] */
	readonly tokens: Int32Array<ArrayBuffer>;
	/** [rows, kept] */
	readonly targets: Int32Array<ArrayBuffer>;
	/**
	 * For each completion token, the own token after which it is predicted; the last one (padding) if there is none:
	 * [rows, kept].
	 */
	readonly places: Int32Array<ArrayBuffer>;
	/**
	 * For each own token except the last: the first row that contains it, and its number of preceding completion tokens.
	 */
	readonly firstRow: Int32Array<ArrayBuffer>;
	readonly depth: Int32Array<ArrayBuffer>;
	/** Per row: its prompt, and its number of completion tokens. */
	readonly group: Int32Array<ArrayBuffer>;
	readonly lengths: Int32Array<ArrayBuffer>;
	/** Per group. */
	readonly prefixLengths: Int32Array<ArrayBuffer>;
}

/** Whole sequences, [rows, tokens], right-padded. */
export interface PaddedSequences {
	readonly rows: number;
	readonly tokens: number;
	readonly inputs: Int32Array<ArrayBuffer>;
}

export interface OpenJob {
	readonly kind: 'open';
	readonly shape: ModelShape;
	/** Tried in this order; the first that computes correctly is used. */
	readonly providers: readonly ProviderName[];
	/** If given, a provider is also rejected if this many CPU threads are faster on micro-batches of this many rows. */
	readonly rival: { readonly workers: number; readonly rows: number } | null;
}

export interface OpenResult {
	readonly provider: ProviderName;
	readonly tried: readonly { readonly provider: string; readonly error: string }[];
}

export interface SampleJob {
	readonly kind: 'sample';
	readonly weights: WeightsRef;
	/** If present, the weights and sizes are those of the teacher. */
	readonly teacher?: TeacherRef;
	/** Distinct prompts. */
	readonly prompts: readonly Int32Array[];
	/** Index of the prompt that each row continues. */
	readonly promptOf: Int32Array;
	readonly seeds: readonly string[];
	/** Per row. */
	readonly maxNewTokens: Int32Array;
	readonly temperature: number;
	readonly topP: number;
	/** Tokens that end a row, including end-of-sequence. */
	readonly stop: readonly number[];
	/** Number of alternatives to return with the statistics of each distribution; null: neither. */
	readonly alternatives: number | null;
}

/** Concatenated completions. */
export interface SampleResult {
	readonly lengths: Int32Array<ArrayBuffer>;
	readonly tokens: Int32Array<ArrayBuffer>;
	readonly logprobs: Float32Array<ArrayBuffer>;
	readonly entropies: Float32Array<ArrayBuffer>;
	/** 1 if a row ended by length. */
	readonly truncated: Uint8Array<ArrayBuffer>;
	/** Varentropy, Gini coefficient and variance of the distribution of each token; empty if not requested. */
	readonly spreads: Float32Array<ArrayBuffer>;
	/** As many entries per token as alternatives were requested. */
	readonly topTokens: Int32Array<ArrayBuffer>;
	readonly topLogprobs: Float32Array<ArrayBuffer>;
}

export interface LogprobsJob {
	readonly kind: 'logprobs';
	readonly weights: WeightsRef;
	readonly batch: PackedSequences;
	readonly temperature: number;
}

export interface LogprobsResult {
	/** [rows, kept] */
	readonly logprobs: Float32Array<ArrayBuffer>;
}

export interface GradientJob {
	readonly kind: 'gradient';
	readonly weights: WeightsRef;
	readonly variant: GradientVariant;
	readonly batch: PackedSequences;
	readonly temperature: number;
	/** The model whose distributions at that temperature the program takes as `teacher`. */
	readonly teacher?: TeacherRef;
	/** Program inputs besides the tokens, by name: [rows, kept], [rows, 1] or a scalar. */
	readonly perToken: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly perRow: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly scalars: Readonly<Record<string, number>>;
	/** Receives the gradient: flat, in parameter order. */
	readonly gradient: SharedArrayBuffer;
}

export interface GradientResult {
	readonly loss: number;
	/** [rows, kept] */
	readonly logprobs: Float32Array<ArrayBuffer>;
	readonly entropies: Float32Array<ArrayBuffer>;
}

/** Values after each token. The last token of each row is unused, because there is no target. */
export interface ValuesJob {
	readonly kind: 'values';
	readonly output: ValueOutput;
	readonly weights: WeightsRef;
	readonly batch: PaddedSequences;
	/** [rows, tokens]: per input token. */
	readonly surprises: Float32Array<ArrayBuffer>;
}

export interface ValuesResult {
	/** [rows, tokens] */
	readonly values: Float32Array<ArrayBuffer>;
}

export interface ValueGradientJob {
	readonly kind: 'value gradient';
	readonly variant: ValueVariant;
	readonly weights: WeightsRef;
	readonly batch: PaddedSequences;
	/** [rows, tokens]: per input token. */
	readonly surprises: Float32Array<ArrayBuffer>;
	/** Program inputs besides the tokens, by name: [rows, tokens], or a scalar. */
	readonly perToken: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly scalars: Readonly<Record<string, number>>;
	/** Receives the gradient: flat, in parameter order. */
	readonly gradient: SharedArrayBuffer;
}

export interface ValueGradientResult extends ValuesResult {
	readonly loss: number;
}

/** Sums gradients over a range; see `addGradients`. */
export interface AddJob {
	readonly kind: 'add';
	readonly total: SharedArrayBuffer;
	readonly parts: readonly SharedArrayBuffer[];
	readonly fresh: boolean;
	readonly range: Range;
}

export interface AddResult {
	readonly squares: Float64Array<ArrayBuffer>;
}

/** Updates a range of the parameters; see `adamW`. */
export interface AdamWJob {
	readonly kind: 'adamW';
	/** The model of the parameters, which determines weight decay. */
	readonly model: ModelKind;
	readonly parameters: SharedArrayBuffer;
	readonly gradient: SharedArrayBuffer;
	readonly firstMoments: SharedArrayBuffer;
	readonly secondMoments: SharedArrayBuffer;
	readonly settings: OptimizerSettings;
	readonly update: number;
	readonly scale: number;
	readonly range: Range;
}

export type Job = OpenJob | SampleJob | LogprobsJob | GradientJob | ValuesJob | ValueGradientJob | AddJob | AdamWJob;

export interface JobResults {
	open: OpenResult;
	sample: SampleResult;
	logprobs: LogprobsResult;
	gradient: GradientResult;
	values: ValuesResult;
	'value gradient': ValueGradientResult;
	add: AddResult;
	adamW: Record<never, never>;
}

export type Reply =
	| { readonly id: number; readonly result: JobResults[Job['kind']] }
	| { readonly id: number; readonly failure: FailureData };
