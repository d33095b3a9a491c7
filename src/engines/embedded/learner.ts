import type { HeadName } from '../../protocol/control.ts';
import type { DeviceName } from '../../protocol/recipe.ts';
import type { ModelShape } from '../shared/modelShape.ts';

/** A named parameter; the flat parameter vector holds them in order, each row-major. */
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
	/** Token ids of each prompt (bos included); a prompt that occurs several times is prefilled once. */
	readonly prompts: readonly (readonly number[])[];
	/** One random stream per row, so that a row's completion does not depend on its neighbors. */
	readonly seeds: readonly string[];
	/** Of every row, or of each. A row also ends where its context does. */
	readonly maxNewTokens: number | readonly number[];
	/** 0: greedy. Log-probabilities are of the logits divided by it (by 1 when greedy). */
	readonly temperature: number;
	readonly topP?: number;
	/** Also end at any of these tokens, besides end-of-sequence. */
	readonly stop?: readonly number[];
	/** Also tell how the distributions were spread, and their `alternatives` most likely tokens. */
	readonly detail?: SampleDetail;
	/** Who writes; the teacher must have been set (default: the policy). */
	readonly of?: 'policy' | 'teacher';
	/** Share the rows evenly among the workers: sooner done, but rounding then depends on how many there are. */
	readonly spread?: boolean;
}

export interface SampleDetail {
	/** 0: none. */
	readonly alternatives: number;
}

/** One entry per completion token, of the distribution that it was drawn from (core/search/distribution.ts). */
export interface SpreadOfTokens {
	readonly varentropies: Float32Array;
	readonly ginis: Float32Array;
	readonly variances: Float32Array;
	/** The most likely tokens and their log-probabilities, likeliest first: `alternatives` entries per token. */
	readonly alternatives: number;
	readonly topTokens: Int32Array;
	readonly topLogprobs: Float32Array;
}

export interface Sample extends Sequence {
	/** Nats, one per completion token, end-of-sequence included. */
	readonly logprobs: Float32Array;
	/** Nats, entropy of the distribution that each token was drawn from. */
	readonly entropies: Float32Array;
	/** Ended by length, not by end-of-sequence or a stop token. */
	readonly truncated: boolean;
	/** Where it was asked for. */
	readonly spread?: SpreadOfTokens;
}

/** Per completion token of a sequence: entry t belongs to tokens[promptLength + t]. */
export type PerToken = Float32Array;

export interface SftRow extends Sequence {
	/** Loss = -sum over rows and tokens of weight * logprob: the caller has normalized the weights. */
	readonly weights: PerToken;
}

export interface GrpoRow extends Sequence {
	/** Loss = sum over rows and tokens of weight * tokenLoss; `loss_type` is nothing but these weights. */
	readonly weights: PerToken;
	readonly advantage: number;
	/** Log-probabilities under the policy that sampled; null: the current policy's own, detached (ratio exactly 1). */
	readonly oldLogprobs: PerToken | null;
	/** Log-probabilities under the reference; null when beta is 0. */
	readonly refLogprobs: PerToken | null;
}

export interface RlooRow extends Sequence {
	/** Of the row; loss = sum over rows of weight * rowLoss. 0: no token of it counts. */
	readonly weight: number;
	readonly advantage: number;
	/** Log-probabilities under the policy that sampled; null: the current policy's own, detached (ratio exactly 1). */
	readonly oldLogprobs: PerToken | null;
}

/** A completion each of whose tokens has an advantage of its own. */
export interface PpoRow extends Sequence {
	/** Loss = sum over rows and tokens of weight * tokenLoss; the caller has normalized the weights. */
	readonly weights: PerToken;
	readonly advantages: PerToken;
	/** As of a `GrpoRow`. */
	readonly oldLogprobs: PerToken | null;
}

export interface DpoRow extends Sequence {
	/** Sum over the completion under the reference. */
	readonly refLogprob: number;
}

/** Loss = sum over rows and tokens of weight * token loss: the caller has normalized the weights. */
export type DistillRow = SftRow;

export interface DistillSettings {
	/** Divides the logits of student and teacher before they are compared. */
	readonly temperature: number;
	/** Share of cross-entropy with the tokens; the rest is the divergence from the teacher. */
	readonly alpha: number;
}

/** A completion with what its beginnings are worth. */
export interface ValueRow extends Sequence {
	/** In 0..1: entry 0 is of the prompt alone, entry t of the first t completion tokens. */
	readonly labels: PerToken;
	/** Loss = sum over rows and entries of weight * binary cross-entropy; the caller has normalized the weights. */
	readonly weights: PerToken;
}

/** A completion as a critic learns of it; entry t of each list is of the first t completion tokens, the last of all. */
export interface CriticRow extends Sequence {
	/** Loss = sum over rows and entries of weight * loss of the value; the caller has normalized the weights. */
	readonly weights: PerToken;
	readonly returns: PerToken;
	/** Values before the first update of the batch. */
	readonly oldValues: PerToken;
	/** Of its completion tokens under the policy that sampled. */
	readonly logprobs: PerToken;
}

export interface ValueUpdateResult {
	readonly loss: number;
	/** Before clipping. */
	readonly gradNorm: number;
	/** Per row, like its labels, before the update. */
	readonly values: readonly PerToken[];
}

export interface OptimiserSettings {
	readonly learningRate: number;
	readonly beta1: number;
	readonly beta2: number;
	readonly epsilon: number;
	readonly weightDecay: number;
	/** Global gradient norm above which the gradient is scaled down to it; 0: no clipping. */
	readonly maxGradNorm: number;
}

export interface GrpoSettings {
	readonly epsilonLow: number;
	readonly epsilonHigh: number;
	/** 0: no KL term and no reference log-probabilities. */
	readonly beta: number;
	readonly temperature: number;
}

/** Of the losses that hold the new policy against the one that sampled. */
export type RatioSettings = Pick<GrpoSettings, 'epsilonLow' | 'epsilonHigh' | 'temperature'>;

export interface UpdateResult {
	readonly loss: number;
	/** Before clipping. */
	readonly gradNorm: number;
	/** Per row, under the policy before the update, at the temperature of the settings. */
	readonly logprobs: readonly PerToken[];
	readonly entropies: readonly PerToken[];
}

/** Weights and optimizer moments, for checkpoints. The arrays are copies. */
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
	/** Providers that were tried before and why they were not taken. */
	readonly tried: readonly { readonly provider: string; readonly error: string }[];
}

/** Whose log-probabilities are taken. */
export type ScoredBy = 'policy' | 'reference';

/**
 * The learning service of the embedded engine: one policy, its reference and its optimizer.
 * Results do not depend on how many workers share a batch: it is cut into micro-batches of fixed size, whose gradients
 * are added in their order.
 */
export interface Learner {
	readonly shape: ModelShape;
	readonly parameters: readonly ParameterSpec[];
	readonly execution: ExecutionReport;
	sample(request: SampleRequest): Promise<Sample[]>;
	/** Log-probabilities of completion tokens under the policy or the reference (which defaults to the policy's weights at `setReference`). */
	logprobs(rows: readonly Sequence[], of: ScoredBy, temperature: number): Promise<PerToken[]>;
	updateSft(rows: readonly SftRow[], optimiser: OptimiserSettings): Promise<UpdateResult>;
	/** An empty list of rows is an update with a zero gradient: moments decay, weight decay applies. */
	updateGrpo(rows: readonly GrpoRow[], settings: GrpoSettings, optimiser: OptimiserSettings): Promise<UpdateResult>;
	/** The same with ratios of whole completions. */
	updateRloo(rows: readonly RlooRow[], settings: RatioSettings, optimiser: OptimiserSettings): Promise<UpdateResult>;
	/** As `updateGrpo` without KL, with advantages of tokens. */
	updatePpo(rows: readonly PpoRow[], settings: RatioSettings, optimiser: OptimiserSettings): Promise<UpdateResult>;
	/** Rows are pairs, the better completion before the worse one; the loss is the mean over pairs. Temperature 1. */
	updateDpo(
		rows: readonly DpoRow[],
		settings: { readonly beta: number },
		optimiser: OptimiserSettings,
	): Promise<UpdateResult>;
	/** The model that `updateDistill` learns from: of any size, of the same vocabulary. Throws `mismatch` otherwise. */
	setTeacher(shape: ModelShape, parameters: Float32Array): void;
	/** log-probabilities and entropies are at temperature 1; the divergence is before alpha and temperature weigh it. */
	updateDistill(
		rows: readonly DistillRow[],
		settings: DistillSettings,
		optimiser: OptimiserSettings,
	): Promise<UpdateResult & { readonly divergence: number }>;
	/** The current weights become the reference. */
	setReference(): void;
	readonly hasReference: boolean;
	/** A copy. */
	referenceParameters(): Float32Array | null;
	restoreReference(parameters: Float32Array): void;
	resetOptimiser(): void;
	state(): LearnerState;
	restore(state: LearnerState): void;
	/** Value models beside the policy, each with a trunk of its own. */
	readonly heads: readonly HeadName[];
	readonly headParameters: readonly ParameterSpec[];
	/** Begins a head anew: the policy's trunk, 0.5 for every text; or from weights. */
	addHead(head: HeadName, parameters?: Float32Array): void;
	/**
	 * Per row: after the prompt, and after each completion token, what the head says of it.
	 * @param logprobs of completion tokens under the policy, where they are known; a reward model reads none
	 */
	values(rows: readonly Sequence[], head: HeadName, logprobs?: readonly PerToken[]): Promise<PerToken[]>;
	updateHead(head: HeadName, rows: readonly ValueRow[], optimiser: OptimiserSettings): Promise<ValueUpdateResult>;
	/** Rows are pairs, the better text before the worse one; the loss is the mean over pairs. */
	updateRewardModel(rows: readonly Sequence[], optimiser: OptimiserSettings): Promise<ValueUpdateResult>;
	/** @param clipRange how far from its old value a value may go before it is clipped */
	updateCritic(
		rows: readonly CriticRow[],
		settings: { readonly clipRange: number },
		optimiser: OptimiserSettings,
	): Promise<ValueUpdateResult>;
	/** Its moments are there once it was updated or restored. */
	headState(head: HeadName): LearnerState;
	headWeights(head: HeadName): Float32Array;
	restoreHead(head: HeadName, state: LearnerState): void;
	resetHeadOptimiser(head: HeadName): void;
	dispose(): Promise<void>;
}
