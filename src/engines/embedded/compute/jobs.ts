import type { FailureData } from '../../../base/failure.ts';
import type { LatentPlaces } from '../../../core/text/latentTags.ts';
import type { HeadName } from '../../../protocol/control.ts';
import type { PrecisionName } from '../../../protocol/recipeKeys/torchRecipe.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import type {
	DeviceTraffic,
	OptimizerSettings,
	ProviderTiming,
	ScoredBy,
	ThoughtReading,
	TriedProvider,
} from '../learner.ts';
import type { ModelKind } from '../model/parameters.ts';
import type { GradientVariant, ValueOutput, ValueVariant } from '../model/programs.ts';
import type { Range } from './adamW.ts';
import type { ProviderName } from './providers.ts';

/** Messages between the main thread and the workers. */

/** Location of a job's weights. Workers copy each version once. */
export interface WeightsRef {
	readonly slot: ScoredBy | 'teacher' | 'sampler' | HeadName;
	readonly version: number;
	/** Null if only the device has them. */
	readonly buffer: SharedArrayBuffer | null;
}

/** Whether a gradient starts an update's sum on the device or is added to it. */
export type SumStep = 'first' | 'next';

/** Receives a flat gradient, in parameter order: shared memory, or the sum on the device. */
export type GradientTarget = SharedArrayBuffer | SumStep;

/** A second model in addition to the policy, with its own shape. */
export interface TeacherRef {
	readonly shape: ModelShape;
	readonly weights: WeightsRef;
}

/** Concatenated row tokens, with shared prefixes stored only once. See `pack`. */
export interface PackedSequences {
	readonly rows: number;
	/** Length of the longest completion in tokens, at least 1. */
	readonly kept: number;
	/** Number of distinct prompts, and length of the longest prompt without its last token, at least 1. */
	readonly groups: number;
	readonly prefix: number;
	/**
	 * Number of prompt tokens, and number of tokens that precede a predicted completion token, including the padding
	 * token.
	 */
	readonly shared: number;
	readonly own: number;
	/** [shared + own] */
	readonly tokens: Int32Array<ArrayBuffer>;
	/** [rows, kept] */
	readonly targets: Int32Array<ArrayBuffer>;
	/**
	 * For each completion token, index of the row's own token that it is predicted from, or of the last token (padding)
	 * if there is none. Shape: [rows, kept].
	 */
	readonly places: Int32Array<ArrayBuffer>;
	/**
	 * For each of the rows' own tokens except the last: the first row that contains it, and the number of completion
	 * tokens that precede it.
	 */
	readonly firstRow: Int32Array<ArrayBuffer>;
	readonly depth: Int32Array<ArrayBuffer>;
	/** Prompt index and number of completion tokens for each row. */
	readonly group: Int32Array<ArrayBuffer>;
	readonly lengths: Int32Array<ArrayBuffer>;
	/** One entry per group. */
	readonly prefixLengths: Int32Array<ArrayBuffer>;
}

/** Whole sequences, right-padded: [rows, tokens]. */
export interface PaddedSequences {
	readonly rows: number;
	readonly tokens: number;
	readonly inputs: Int32Array<ArrayBuffer>;
}

/** Rows with latent thoughts; see `packThinking`. */
export interface LatentSequences {
	readonly rows: number;
	/** Number of thoughts in each row. */
	readonly thoughts: number;
	/** Length of the longest text before the start token, and of the longest text that starts with the end token. */
	readonly before: number;
	readonly after: number;
	/** Text before the start token, padded on the left: [rows, before]. */
	readonly earlier: Int32Array<ArrayBuffer>;
	/** Length of this text and the start token, for each row. */
	readonly lengths: Int32Array<ArrayBuffer>;
	readonly starts: Int32Array<ArrayBuffer>;
	/** Tokens from the end token onward: [rows, after]. */
	readonly later: Int32Array<ArrayBuffer>;
	/** Number of these tokens in each row. */
	readonly laterLengths: Int32Array<ArrayBuffer>;
}

/** Rows with latent thoughts, and the target for each token in `later`: [rows, after]. */
export interface LatentTargets extends LatentSequences {
	readonly targets: Int32Array<ArrayBuffer>;
}

export interface OpenJob {
	readonly kind: 'open';
	readonly shape: ModelShape;
	/** Providers to try, in order. The first one that computes correctly is used. Without `cpu`, there may be none. */
	readonly providers: readonly ProviderName[];
	readonly precision: PrecisionName;
	/** If set, also rejects a provider that is slower than this many CPU threads on micro-batches with this many rows. */
	readonly rival: { readonly workers: number; readonly rows: number } | null;
}

export interface OpenResult {
	readonly provider: ProviderName;
	readonly tried: readonly TriedProvider[];
	readonly measured: readonly ProviderTiming[];
}

export interface SampleJob {
	readonly kind: 'sample';
	readonly weights: WeightsRef;
	/** If present, the weights and shape are those of the teacher. */
	readonly teacher?: TeacherRef;
	/** Distinct prompts. */
	readonly prompts: readonly Int32Array[];
	/** Prompt index for each row. */
	readonly promptOf: Int32Array;
	readonly seeds: readonly string[];
	/** One entry per row. */
	readonly maxNewTokens: Int32Array;
	readonly temperature: number;
	readonly topP: number;
	/** Tokens that end a row, including the end-of-sequence token. */
	readonly stop: readonly number[];
	/** Number of alternatives to return along with distribution statistics, or null for neither. */
	readonly alternatives: number | null;
	/** Slots for latent thoughts in the prompts. */
	readonly thoughts?: LatentPlaces;
}

/** Concatenated completions. */
export interface SampleResult {
	readonly lengths: Int32Array<ArrayBuffer>;
	readonly tokens: Int32Array<ArrayBuffer>;
	readonly logprobs: Float32Array<ArrayBuffer>;
	readonly entropies: Float32Array<ArrayBuffer>;
	/** 1 if the row reached its maximum length. */
	readonly truncated: Uint8Array<ArrayBuffer>;
	/** Varentropy, Gini coefficient, variance and self-certainty of each token's distribution. Empty if not requested. */
	readonly spreads: Float32Array<ArrayBuffer>;
	/** Requested number of alternatives for each token. */
	readonly topTokens: Int32Array<ArrayBuffer>;
	readonly topLogprobs: Float32Array<ArrayBuffer>;
	/** Present if the prompts have thoughts, with one entry per row. */
	readonly thoughts?: readonly ThoughtReading[];
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
	/** Model whose distributions at the job's temperature are the program's `teacher` input. */
	readonly teacher?: TeacherRef;
	/** Program inputs other than tokens, by name: [rows, kept], [rows, 1] or a scalar. */
	readonly perToken: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly perRow: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly scalars: Readonly<Record<string, number>>;
	readonly gradient: GradientTarget;
}

export interface GradientResult {
	readonly loss: number;
	/** [rows, kept] */
	readonly logprobs: Float32Array<ArrayBuffer>;
	readonly entropies: Float32Array<ArrayBuffer>;
}

/** Computes the gradient of the cross-entropy of completions after latent thoughts. */
export interface LatentGradientJob {
	readonly kind: 'latent gradient';
	readonly weights: WeightsRef;
	readonly batch: LatentTargets;
	/** Weight of each completion token: [rows, after]. */
	readonly tokenWeights: Float32Array<ArrayBuffer>;
	readonly gradient: GradientTarget;
}

/** Computes the value after each token. The last token in each row is not used, because it has no target. */
export interface ValuesJob {
	readonly kind: 'values';
	readonly output: ValueOutput;
	readonly weights: WeightsRef;
	readonly batch: PaddedSequences;
	/** One entry per input token: [rows, tokens]. */
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
	/** One entry per input token: [rows, tokens]. */
	readonly surprises: Float32Array<ArrayBuffer>;
	/** Program inputs other than tokens, by name: [rows, tokens] or a scalar. */
	readonly perToken: Readonly<Record<string, Float32Array<ArrayBuffer>>>;
	readonly scalars: Readonly<Record<string, number>>;
	readonly gradient: GradientTarget;
}

export interface ValueGradientResult extends ValuesResult {
	readonly loss: number;
}

/** Sums gradients over a range. See `addGradients`. */
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

/** Updates a range of parameters. See `adamW`. */
export interface AdamWJob {
	readonly kind: 'adamW';
	/** Model that the parameters belong to, which determines weight decay. */
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

/** Uploads the weights of a model to the device, with moments, or null for zero. */
export interface StoreJob {
	readonly kind: 'store';
	readonly slot: WeightsRef['slot'];
	readonly weights: Float32Array<ArrayBuffer>;
	readonly moments: { readonly first: Float32Array<ArrayBuffer>; readonly second: Float32Array<ArrayBuffer> } | null;
}

/** Makes one model on the device use the weights of another. */
export interface CopyJob {
	readonly kind: 'copy';
	readonly from: WeightsRef['slot'];
	readonly to: WeightsRef['slot'];
}

/** Downloads the weights of a model and, if `moments`, its optimizer moments. */
export interface LoadJob {
	readonly kind: 'load';
	readonly slot: WeightsRef['slot'];
	readonly moments: boolean;
}

/** Flat vectors in parameter order. Moments are empty if not requested. */
export interface LoadResult {
	readonly weights: Float32Array<ArrayBuffer>;
	readonly first: Float32Array<ArrayBuffer>;
	readonly second: Float32Array<ArrayBuffer>;
}

/** Resets the moments of a model on the device to zero. */
export interface ResetJob {
	readonly kind: 'reset';
	readonly slot: WeightsRef['slot'];
}

/** Updates a model with the gradient sum on the device, or with a zero gradient if `sum` is false. */
export interface StepJob {
	readonly kind: 'step';
	readonly slot: WeightsRef['slot'];
	readonly settings: OptimizerSettings;
	readonly update: number;
	readonly sum: boolean;
}

export interface StepResult {
	/** Gradient norm before clipping. If it is not finite, the update has not changed anything. */
	readonly norm: number;
}

export type Job =
	| OpenJob
	| SampleJob
	| LogprobsJob
	| GradientJob
	| LatentGradientJob
	| ValuesJob
	| ValueGradientJob
	| AddJob
	| AdamWJob
	| DeviceJob;

/** Jobs for models whose training state stays on a device. */
export type DeviceJob = StoreJob | CopyJob | LoadJob | ResetJob | StepJob;

export interface JobResults {
	open: OpenResult;
	sample: SampleResult;
	logprobs: LogprobsResult;
	gradient: GradientResult;
	'latent gradient': GradientResult;
	values: ValuesResult;
	'value gradient': ValueGradientResult;
	add: AddResult;
	adamW: Record<never, never>;
	store: Record<never, never>;
	copy: Record<never, never>;
	load: LoadResult;
	reset: Record<never, never>;
	step: StepResult;
}

export type Reply =
	/** `traffic`: transfers to and from a device, and dispatches, if the job ran on a device. */
	| { readonly id: number; readonly result: JobResults[Job['kind']]; readonly traffic?: DeviceTraffic }
	| { readonly id: number; readonly failure: FailureData };
