import type { HeadName } from '../../protocol/control.ts';
import type { DeviceName } from '../../protocol/recipe.ts';
import type { ModelShape } from '../shared/modelShape.ts';

/** A named parameter; the flat parameter vector contains them in order, each row-major. */
export interface ParameterSpec {
	readonly name: string;
	readonly shape: readonly number[];
	/** Whether weight decay applies (matrices, not norms). */
	readonly decay: boolean;
}

/** prompt + completion as token ids. `tokens` starts with the prompt. */
export interface Sequence {
	readonly tokens: readonly number[];
	readonly promptLength: number;
}

export interface SampleRequest {
	/** Token ids of each prompt (including bos); a repeated prompt is prefilled once. */
	readonly prompts: readonly (readonly number[])[];
	/** One random stream per row, so that the completion of a row does not depend on other rows. */
	readonly seeds: readonly string[];
	/** For all rows, or per row. A row also ends at the context limit. */
	readonly maxNewTokens: number | readonly number[];
	/** 0: greedy. Log-probabilities are of the logits divided by it (by 1 when greedy). */
	readonly temperature: number;
	readonly topP?: number;
	/** Further stop tokens besides end-of-sequence. */
	readonly stop?: readonly number[];
	/** Also return statistics of the distributions, and their `alternatives` most likely tokens. */
	readonly detail?: SampleDetail;
	/** The sampling model; a teacher must have been set before (default: the policy). */
	readonly of?: 'policy' | 'teacher';
	/** Distribute the rows evenly over the workers: faster, but rounding then depends on their number. */
	readonly spread?: boolean;
}

export interface SampleDetail {
	/** 0: none. */
	readonly alternatives: number;
}

/** One entry per completion token, of the distribution that it was sampled from (core/search/distribution.ts). */
export interface SpreadOfTokens {
	readonly varentropies: Float32Array;
	readonly ginis: Float32Array;
	readonly variances: Float32Array;
	/** Most likely tokens and their log-probabilities, descending: `alternatives` entries per token. */
	readonly alternatives: number;
	readonly topTokens: Int32Array;
	readonly topLogprobs: Float32Array;
}

export interface Sample extends Sequence {
	/** Nats, one per completion token, including end-of-sequence. */
	readonly logprobs: Float32Array;
	/** Nats, entropy of the distribution that each token was sampled from. */
	readonly entropies: Float32Array;
	/** Whether it ended by length instead of end-of-sequence or a stop token. */
	readonly truncated: boolean;
	/** Present if requested. */
	readonly spread?: SpreadOfTokens;
}

/** Per completion token of a sequence: entry t belongs to tokens[promptLength + t]. */
export type PerToken = Float32Array;

export interface SftRow extends Sequence {
	/** Loss = -sum over rows and tokens of weight * logprob; the caller normalizes the weights. */
	readonly weights: PerToken;
}

export interface GrpoRow extends Sequence {
	/** Loss = sum over rows and tokens of weight * tokenLoss; `loss_type` only affects these weights. */
	readonly weights: PerToken;
	readonly advantage: number;
	/** Log-probabilities under the sampling policy; null: those of the current policy, detached (ratio exactly 1). */
	readonly oldLogprobs: PerToken | null;
	/** Log-probabilities under the reference; null if beta is 0. */
	readonly refLogprobs: PerToken | null;
}

export interface RlooRow extends Sequence {
	/** Weight of the row; loss = sum over rows of weight * rowLoss. 0: none of its tokens counts. */
	readonly weight: number;
	readonly advantage: number;
	/** Log-probabilities under the sampling policy; null: those of the current policy, detached (ratio exactly 1). */
	readonly oldLogprobs: PerToken | null;
}

/** A completion with an advantage per token. */
export interface PpoRow extends Sequence {
	/** Loss = sum over rows and tokens of weight * tokenLoss; the caller normalizes the weights. */
	readonly weights: PerToken;
	readonly advantages: PerToken;
	/** As in `GrpoRow`. */
	readonly oldLogprobs: PerToken | null;
}

export interface DpoRow extends Sequence {
	/** Sum over the completion tokens under the reference. */
	readonly refLogprob: number;
}

/** Loss = sum over rows and tokens of weight * token loss; the caller normalizes the weights. */
export type DistillRow = SftRow;

export interface DistillSettings {
	/** Divides the logits of student and teacher before they are compared. */
	readonly temperature: number;
	/** Weight of the cross-entropy with the tokens; the rest is the divergence from the teacher. */
	readonly alpha: number;
}

/** A completion with the labels of its prefixes. */
export interface ValueRow extends Sequence {
	/** In 0..1: entry 0 is for the prompt alone, entry t for the first t completion tokens. */
	readonly labels: PerToken;
	/** Loss = sum over rows and entries of weight * binary cross-entropy; the caller normalizes the weights. */
	readonly weights: PerToken;
}

/** A completion for critic training; entry t of each list is for the first t completion tokens. */
export interface CriticRow extends Sequence {
	/** Loss = sum over rows and entries of weight * value loss; the caller normalizes the weights. */
	readonly weights: PerToken;
	readonly returns: PerToken;
	/** Values before the first update of the batch. */
	readonly oldValues: PerToken;
	/** Of its completion tokens under the sampling policy. */
	readonly logprobs: PerToken;
}

export interface ValueUpdateResult {
	readonly loss: number;
	/** Before clipping. */
	readonly gradNorm: number;
	/** Per row, parallel to its labels, before the update. */
	readonly values: readonly PerToken[];
}

export interface OptimizerSettings {
	readonly learningRate: number;
	readonly beta1: number;
	readonly beta2: number;
	readonly epsilon: number;
	readonly weightDecay: number;
	/** Global gradient norm above which the gradient is scaled down; 0: no clipping. */
	readonly maxGradNorm: number;
}

export interface GrpoSettings {
	readonly epsilonLow: number;
	readonly epsilonHigh: number;
	/** 0: no KL term and no reference log-probabilities. */
	readonly beta: number;
	readonly temperature: number;
}

/** Settings of losses with ratios to the sampling policy. */
export type RatioSettings = Pick<GrpoSettings, 'epsilonLow' | 'epsilonHigh' | 'temperature'>;

export interface UpdateResult {
	readonly loss: number;
	/** Before clipping. */
	readonly gradNorm: number;
	/** Per row, under the policy before the update, at the temperature in the settings. */
	readonly logprobs: readonly PerToken[];
	readonly entropies: readonly PerToken[];
}

/** Weights and optimizer moments for checkpoints. The arrays are copies. */
export interface LearnerState {
	readonly parameters: Float32Array;
	readonly firstMoments: Float32Array;
	readonly secondMoments: Float32Array;
	/** Updates since the optimizer was reset. */
	readonly updates: number;
}

export interface ExecutionReport {
	readonly provider: Exclude<DeviceName, 'auto'>;
	readonly workers: number;
	/** Rejected providers with the reasons. */
	readonly tried: readonly { readonly provider: string; readonly error: string }[];
}

/** Whose log-probabilities are taken. */
export type ScoredBy = 'policy' | 'reference';

/**
 * The learner of the embedded engine: one policy, its reference and its optimizer. Results do not depend on the number
 * of workers: a batch is split into micro-batches of fixed size, whose gradients are summed in order.
 */
export interface Learner {
	readonly shape: ModelShape;
	readonly parameters: readonly ParameterSpec[];
	readonly execution: ExecutionReport;
	sample(request: SampleRequest): Promise<Sample[]>;
	/**
	 * Log-probabilities of completion tokens under the policy or the reference (by default the policy's weights at
	 * `setReference`).
	 */
	logprobs(rows: readonly Sequence[], of: ScoredBy, temperature: number): Promise<PerToken[]>;
	updateSft(rows: readonly SftRow[], optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** An empty list of rows is an update with zero gradient: moments and weights decay. */
	updateGrpo(rows: readonly GrpoRow[], settings: GrpoSettings, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** The same with ratios of whole completions. */
	updateRloo(rows: readonly RlooRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** As `updateGrpo` without KL, with per-token advantages. */
	updatePpo(rows: readonly PpoRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** Rows are pairs, the better completion first; the loss is the mean over pairs. Temperature 1. */
	updateDpo(
		rows: readonly DpoRow[],
		settings: { readonly beta: number },
		optimizer: OptimizerSettings,
	): Promise<UpdateResult>;
	/** Sets the teacher of `updateDistill`: any size, same vocabulary. Throws `mismatch` otherwise. */
	setTeacher(shape: ModelShape, parameters: Float32Array): void;
	/**
	 * Log-probabilities and entropies are at temperature 1; the divergence is before weighting by alpha and temperature.
	 */
	updateDistill(
		rows: readonly DistillRow[],
		settings: DistillSettings,
		optimizer: OptimizerSettings,
	): Promise<UpdateResult & { readonly divergence: number }>;
	/** Copies the current weights to the reference. */
	setReference(): void;
	readonly hasReference: boolean;
	/** A copy. */
	referenceParameters(): Float32Array | null;
	restoreReference(parameters: Float32Array): void;
	resetOptimizer(): void;
	state(): LearnerState;
	restore(state: LearnerState): void;
	/** Value models beside the policy, each with its own trunk. */
	readonly heads: readonly HeadName[];
	readonly headParameters: readonly ParameterSpec[];
	/** Creates a head: from the policy's trunk, with value 0.5 for every text; or from given weights. */
	addHead(head: HeadName, parameters?: Float32Array): void;
	/**
	 * Per row: the head's value after the prompt, and after each completion token.
	 * @param logprobs of completion tokens under the policy, if known; unused by a reward model
	 */
	values(rows: readonly Sequence[], head: HeadName, logprobs?: readonly PerToken[]): Promise<PerToken[]>;
	updateHead(head: HeadName, rows: readonly ValueRow[], optimizer: OptimizerSettings): Promise<ValueUpdateResult>;
	/** Rows are pairs, the better text first; the loss is the mean over pairs. */
	updateRewardModel(rows: readonly Sequence[], optimizer: OptimizerSettings): Promise<ValueUpdateResult>;
	/** @param clipRange max distance from the old value before a value is clipped */
	updateCritic(
		rows: readonly CriticRow[],
		settings: { readonly clipRange: number },
		optimizer: OptimizerSettings,
	): Promise<ValueUpdateResult>;
	/** The moments exist after the first update or a restore. */
	headState(head: HeadName): LearnerState;
	headWeights(head: HeadName): Float32Array;
	restoreHead(head: HeadName, state: LearnerState): void;
	resetHeadOptimizer(head: HeadName): void;
	dispose(): Promise<void>;
}
