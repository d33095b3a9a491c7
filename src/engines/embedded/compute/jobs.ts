import type { FailureData } from '../../../base/failure.ts';
import type { HeadName } from '../../../protocol/control.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type { OptimiserSettings, ScoredBy } from '../learner.ts';
import type { ModelKind } from '../model/parameters.ts';
import type { GradientVariant, ValueOutput, ValueVariant } from '../model/programs.ts';
import type { Range } from './adamW.ts';
import type { ProviderName } from './providers.ts';

/** What the main thread and the workers say to each other. */

/** Where a job's weights lie; a worker copies them once per version. */
export interface WeightsRef {
	readonly slot: ScoredBy | 'teacher' | HeadName;
	readonly version: number;
	readonly buffer: SharedArrayBuffer;
}

/** A model of sizes of its own beside the policy. */
export interface TeacherRef {
	readonly shape: ModelShape;
	readonly weights: WeightsRef;
}

/** The tokens of rows side by side, each beginning of a text only once: see `pack`. */
export interface PackedSequences {
	readonly rows: number;
	/** Tokens of the longest completion, at least 1. */
	readonly kept: number;
	/** Distinct prompts, and tokens of the longest but for its last, at least 1. */
	readonly groups: number;
	readonly prefix: number;
	/** Tokens that are prompts', and those after which completions' are predicted, with the one that is nobody's. */
	readonly shared: number;
	readonly own: number;
	/** [shared + own] */
	readonly tokens: Int32Array<ArrayBuffer>;
	/** [rows, kept] */
	readonly targets: Int32Array<ArrayBuffer>;
	/** Which of the own tokens each is predicted after, the last where there is none: [rows, kept]. */
	readonly places: Int32Array<ArrayBuffer>;
	/** Of each own token but the last: the first row that has it, and after how many completion tokens. */
	readonly firstRow: Int32Array<ArrayBuffer>;
	readonly depth: Int32Array<ArrayBuffer>;
	/** Of each row: its prompt, and its completion's tokens. */
	readonly group: Int32Array<ArrayBuffer>;
	readonly lengths: Int32Array<ArrayBuffer>;
	/** Of each group. */
	readonly prefixLengths: Int32Array<ArrayBuffer>;
}

/** Whole sequences, [rows, tokens], padded on the right. */
export interface PaddedSequences {
	readonly rows: number;
	readonly tokens: number;
	readonly inputs: Int32Array<ArrayBuffer>;
}

export interface OpenJob {
	readonly kind: 'open';
	readonly shape: ModelShape;
	/** Tried in this order; the first that computes correctly is taken. */
	readonly providers: readonly ProviderName[];
	/** If given, a provider is also passed over when this many processor threads are faster on micro-batches of so many rows. */
	readonly rival: { readonly workers: number; readonly rows: number } | null;
}

export interface OpenResult {
	readonly provider: ProviderName;
	readonly tried: readonly { readonly provider: string; readonly error: string }[];
}

export interface SampleJob {
	readonly kind: 'sample';
	readonly weights: WeightsRef;
	/** Present: its weights are the teacher's, and so are the sizes. */
	readonly teacher?: TeacherRef;
	/** Distinct prompts. */
	readonly prompts: readonly Int32Array[];
	/** Which prompt each row continues. */
	readonly promptOf: Int32Array;
	readonly seeds: readonly string[];
	/** Of each row. */
	readonly maxNewTokens: Int32Array;
	readonly temperature: number;
	readonly topP: number;
	/** Tokens that end a row, end-of-sequence included. */
	readonly stop: readonly number[];
	/** How many alternatives to tell with the spread of each distribution; null: neither. */
	readonly alternatives: number | null;
}

/** Completions one after the other. */
export interface SampleResult {
	readonly lengths: Int32Array<ArrayBuffer>;
	readonly tokens: Int32Array<ArrayBuffer>;
	readonly logprobs: Float32Array<ArrayBuffer>;
	readonly entropies: Float32Array<ArrayBuffer>;
	/** 1 where a row ended by length. */
	readonly truncated: Uint8Array<ArrayBuffer>;
	/** Varentropy, Gini coefficient and variance of each token's distribution; empty if not asked for. */
	readonly spreads: Float32Array<ArrayBuffer>;
	/** As many entries a token as alternatives were asked for. */
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
	/** Whose distributions at that temperature the program takes as `teacher`. */
	readonly teacher?: TeacherRef;
	/** Inputs of the program besides the tokens, by name: [rows, kept], [rows, 1] or a single number. */
	readonly perToken: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly perRow: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly scalars: Readonly<Record<string, number>>;
	/** Receives the gradient: flat, in the order of the parameters. */
	readonly gradient: SharedArrayBuffer;
}

export interface GradientResult {
	readonly loss: number;
	/** [rows, kept] */
	readonly logprobs: Float32Array<ArrayBuffer>;
	readonly entropies: Float32Array<ArrayBuffer>;
}

/** Values after each token. The last token of each row stands for nothing: there is no target. */
export interface ValuesJob {
	readonly kind: 'values';
	readonly output: ValueOutput;
	readonly weights: WeightsRef;
	readonly batch: PaddedSequences;
	/** [rows, tokens]: of each input token. */
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
	/** [rows, tokens]: of each input token. */
	readonly surprises: Float32Array<ArrayBuffer>;
	/** Inputs of the program besides the tokens, by name: [rows, tokens], or a single number. */
	readonly perToken: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly scalars: Readonly<Record<string, number>>;
	/** Receives the gradient: flat, in the order of the parameters. */
	readonly gradient: SharedArrayBuffer;
}

export interface ValueGradientResult extends ValuesResult {
	readonly loss: number;
}

/** Adds gradients up over a range: see `addGradients`. */
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

/** Updates a range of the parameters: see `adamW`. */
export interface AdamWJob {
	readonly kind: 'adamW';
	/** Whose parameters they are: it decides which of them decay. */
	readonly model: ModelKind;
	readonly parameters: SharedArrayBuffer;
	readonly gradient: SharedArrayBuffer;
	readonly firstMoments: SharedArrayBuffer;
	readonly secondMoments: SharedArrayBuffer;
	readonly settings: OptimiserSettings;
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
