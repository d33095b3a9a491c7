import type { Objective } from '../../core/grpo/objective/objective.ts';
import type { LatentPlaces } from '../../core/text/latentTags.ts';
import type { HeadName } from '../../protocol/control.ts';
import type { DeviceName } from '../../protocol/recipeKeys/recipe.ts';
import type { ModelShape } from '../shared/modelShape.ts';

/** A named parameter. The flat parameter vector contains all parameters in order, in row-major layout. */
export interface ParameterSpec {
	readonly name: string;
	readonly shape: readonly number[];
	/** Whether weight decay applies (true for matrices, false for norms). */
	readonly decay: boolean;
}

/** Token IDs of a prompt followed by its completion. */
export interface Sequence {
	readonly tokens: readonly number[];
	readonly promptLength: number;
}

export interface SampleRequest {
	/** Token IDs of each prompt, including bos. A repeated prompt is prefilled only once. */
	readonly prompts: readonly (readonly number[])[];
	/** One random stream per row, so a row's completion does not depend on other rows. */
	readonly seeds: readonly string[];
	/** Limit for all rows, or one per row. Rows also end at the context limit. */
	readonly maxNewTokens: number | readonly number[];
	/**
	 * Sampling temperature, with 0 for greedy decoding. Log-probabilities are computed from the logits divided by it (or
	 * by 1 when greedy).
	 */
	readonly temperature: number;
	readonly topP?: number;
	/** Stop tokens in addition to end-of-sequence. */
	readonly stop?: readonly number[];
	/** If set, also returns distribution statistics and the `alternatives` most likely tokens. */
	readonly detail?: SampleDetail;
	/** Slots for latent thoughts in the prompts (model/latentTrunk.ts). CPU only. */
	readonly thoughts?: LatentPlaces;
	/**
	 * Model to sample from. A teacher or a sampler must have been set first. Requests to the sampler run concurrently
	 * with other operations. Default: the policy.
	 */
	readonly of?: 'policy' | 'teacher' | 'sampler';
	/**
	 * Whether to distribute rows evenly over the workers. This is faster, but rounding then depends on the number of
	 * workers.
	 */
	readonly spread?: boolean;
}

export interface SampleDetail {
	/** Number of alternatives, or 0 for none. */
	readonly alternatives: number;
}

/**
 * Statistics of the distribution that each completion token was sampled from, one entry per token
 * (core/search/distribution.ts).
 */
export interface SpreadOfTokens {
	readonly varentropies: Float32Array;
	readonly ginis: Float32Array;
	readonly variances: Float32Array;
	/** KL divergence from the uniform distribution, in nats. */
	readonly selfCertainties: Float32Array;
	/** Most likely tokens and their log-probabilities, in descending order, with `alternatives` entries per token. */
	readonly alternatives: number;
	readonly topTokens: Int32Array;
	readonly topLogprobs: Float32Array;
}

export interface Sample extends Sequence {
	/** Log-probability in nats for each completion token, including end-of-sequence. */
	readonly logprobs: Float32Array;
	/** Entropy in nats of the distribution that each token was sampled from. */
	readonly entropies: Float32Array;
	/** Whether the completion reached its maximum length instead of ending with end-of-sequence or a stop token. */
	readonly truncated: boolean;
	/**
	 * 1 for completion tokens that the policy wrote. 0 for tokens from an environment, which are not trained on and have
	 * log-probability and entropy 0. Absent if the policy wrote all tokens.
	 */
	readonly trained?: Uint8Array;
	/** Present if requested. */
	readonly spread?: SpreadOfTokens;
	/** Present if the prompt has latent thoughts. */
	readonly thoughts?: ThoughtReading;
}

/** Latent thoughts as decoded by the output head: the most likely tokens for each, in descending order. */
export interface ThoughtReading {
	/** Number of thoughts. */
	readonly count: number;
	/** [thoughts, alternatives] */
	readonly tokens: Int32Array;
	/** In nats, at temperature 1. */
	readonly logprobs: Float32Array;
}

/** One value per completion token in a sequence. Entry t belongs to tokens[promptLength + t]. */
export type PerToken = Float32Array;

export interface SftRow extends Sequence {
	/** Loss = -sum over rows and tokens of weight * logprob. The caller normalizes the weights. */
	readonly weights: PerToken;
}

export interface GrpoRow extends Sequence {
	/** Loss = sum over rows and tokens of weight * token loss (`rowLoss`). */
	readonly weights: PerToken;
	readonly advantage: number;
	/**
	 * Log-probabilities under the sampling policy, or null to use those of the current policy, detached (ratio exactly
	 * 1).
	 */
	readonly oldLogprobs: PerToken | null;
	/** Log-probabilities under the reference, or null if beta is 0. */
	readonly refLogprobs: PerToken | null;
	/** Factors of the surrogate loss (`tokenFactors`); absent if all are 1. If any row has them, all rows must. */
	readonly factors?: PerToken;
	/**
	 * Added to the log ratio of the completion with vespo (`samplerLogRatio`); absent if 0. If any row has it, all rows
	 * must.
	 */
	readonly samplerLogRatio?: number;
	/**
	 * Added to the drift of an off-policy completion (`samplerDrift`); absent if 0. If any row has it, all rows must.
	 */
	readonly samplerDrift?: number;
	/**
	 * Loss -= sum over rows and tokens of weight * entropy; absent if there are none. If any row has them, all rows
	 * must.
	 */
	readonly entropyWeights?: PerToken;
	/**
	 * Loss -= sum over rows and tokens of weight * logprob; absent if there are none. If any row has them, all rows
	 * must.
	 */
	readonly observationWeights?: PerToken;
	/** Coefficients of |log ratio| (`tokenPenalties`); absent if there are none. If any row has them, all rows must. */
	readonly penalties?: PerToken;
}

export interface RlooRow extends Sequence {
	/** Row weight: loss = sum over rows of weight * rowLoss. 0 if no token counts. */
	readonly weight: number;
	readonly advantage: number;
	/**
	 * Log-probabilities under the sampling policy, or null to use those of the current policy, detached (ratio exactly
	 * 1).
	 */
	readonly oldLogprobs: PerToken | null;
}

/** A completion with per-token advantages. */
export interface PpoRow extends Sequence {
	/** Loss = sum over rows and tokens of weight * tokenLoss. The caller normalizes the weights. */
	readonly weights: PerToken;
	readonly advantages: PerToken;
	/** See `GrpoRow`. */
	readonly oldLogprobs: PerToken | null;
}

export interface DpoRow extends Sequence {
	/** Summed log-probability of the completion tokens under the reference. */
	readonly refLogprob: number;
}

/** Loss = sum over rows and tokens of weight * token loss. The caller normalizes the weights. */
export type DistillRow = SftRow;

export interface DistillSettings {
	/** Temperature that divides student and teacher logits before they are compared. */
	readonly temperature: number;
	/** Weight of the cross-entropy with the tokens. The divergence from the teacher gets the remaining weight. */
	readonly alpha: number;
}

/** A completion with labels for its prefixes. */
export interface ValueRow extends Sequence {
	/** Labels in 0..1. Entry 0 is for the prompt alone, and entry t for the first t completion tokens. */
	readonly labels: PerToken;
	/** Loss = sum over rows and entries of weight * binary cross-entropy. The caller normalizes the weights. */
	readonly weights: PerToken;
}

/** A completion for critic training. Entry t in each list is for the first t completion tokens. */
export interface CriticRow extends Sequence {
	/** Loss = sum over rows and entries of weight * value loss. The caller normalizes the weights. */
	readonly weights: PerToken;
	readonly returns: PerToken;
	/** Values before the first update in the batch. */
	readonly oldValues: PerToken;
	/** Log-probabilities of the completion tokens under the sampling policy. */
	readonly logprobs: PerToken;
}

export interface ValueUpdateResult {
	readonly loss: number;
	/** Gradient norm before clipping. */
	readonly gradNorm: number;
	/** Values before the update for each row, parallel to its labels. */
	readonly values: readonly PerToken[];
}

export interface OptimizerSettings {
	readonly learningRate: number;
	readonly beta1: number;
	readonly beta2: number;
	readonly epsilon: number;
	readonly weightDecay: number;
	/** Maximum global gradient norm. Larger gradients are scaled down. 0 disables clipping. */
	readonly maxGradNorm: number;
}

/** Settings for an update. If beta is 0, there is no KL term, and reference log-probabilities are absent. */
export interface GrpoSettings extends Objective {
	readonly temperature: number;
}

/** Settings for losses that use ratios to the sampling policy. */
export type RatioSettings = Pick<GrpoSettings, 'epsilonLow' | 'epsilonHigh' | 'temperature'>;

export interface UpdateResult {
	readonly loss: number;
	/** Gradient norm before clipping. */
	readonly gradNorm: number;
	/** Log-probabilities for each row under the policy before the update, at the temperature in the settings. */
	readonly logprobs: readonly PerToken[];
	readonly entropies: readonly PerToken[];
}

/** Weights and optimizer moments for a checkpoint. The arrays are copies. */
export interface LearnerState {
	readonly parameters: Float32Array;
	readonly firstMoments: Float32Array;
	readonly secondMoments: Float32Array;
	/** Number of updates since the optimizer was reset. */
	readonly updates: number;
}

export interface ExecutionReport {
	readonly provider: Exclude<DeviceName, 'auto'>;
	readonly workers: number;
	/** Rejected providers, with reasons. */
	readonly tried: readonly TriedProvider[];
	/** Timings that `auto` compared. */
	readonly measured: readonly ProviderTiming[];
}

/** Bytes transferred between host and device, and number of dispatches. */
export interface DeviceTraffic {
	readonly bytesUp: number;
	readonly bytesDown: number;
	readonly dispatches: number;
}

/** A provider that cannot be used. */
export interface TriedProvider {
	readonly provider: Exclude<DeviceName, 'auto'>;
	readonly error: string;
	/** Whether its results differ from the CPU's. */
	readonly faulty: boolean;
}

/** Times for sampling completions and for computing their gradient. */
export interface ProviderTiming {
	readonly provider: Exclude<DeviceName, 'auto'>;
	/** Number of completions, and number of tokens per completion. */
	readonly rows: number;
	readonly tokens: number;
	readonly samplingMs: number;
	readonly updateMs: number;
}

/** Model that computes the log-probabilities. */
export type ScoredBy = 'policy' | 'reference';

/**
 * The embedded engine's learner: a policy, its reference and its optimizer. Results do not depend on the number of
 * workers, because batches are split into fixed-size micro-batches whose gradients are summed in order.
 */
export interface Learner {
	readonly shape: ModelShape;
	readonly parameters: readonly ParameterSpec[];
	readonly execution: ExecutionReport;
	/** Returns the device traffic since the last call, or null on the CPU. */
	takeTraffic(): DeviceTraffic | null;
	sample(request: SampleRequest): Promise<Sample[]>;
	/**
	 * Returns log-probabilities of completion tokens under the policy or the reference (the policy's weights at the time
	 * of `setReference`, by default).
	 */
	logprobs(rows: readonly Sequence[], of: ScoredBy, temperature: number): Promise<PerToken[]>;
	updateSft(rows: readonly SftRow[], optimizer: OptimizerSettings): Promise<UpdateResult>;
	/**
	 * Like `updateSft`, but for rows whose prompts end with slots for latent thoughts. Gradients flow through the
	 * thoughts.
	 */
	updateLatent(rows: readonly SftRow[], thoughts: LatentPlaces, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** Updates the policy. An empty list of rows results in a zero-gradient update, which decays moments and weights. */
	updateGrpo(rows: readonly GrpoRow[], settings: GrpoSettings, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** Like `updateGrpo`, but with ratios for whole completions. */
	updateRloo(rows: readonly RlooRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/** Like `updateGrpo`, but without KL and with per-token advantages. */
	updatePpo(rows: readonly PpoRow[], settings: RatioSettings, optimizer: OptimizerSettings): Promise<UpdateResult>;
	/**
	 * Updates the policy on pairs of rows, preferred completion first. The loss is the mean over pairs, at temperature 1.
	 */
	updateDpo(
		rows: readonly DpoRow[],
		settings: { readonly beta: number },
		optimizer: OptimizerSettings,
	): Promise<UpdateResult>;
	/**
	 * Sets the teacher for `updateDistill`. The teacher can be any size, but must use the same vocabulary; throws
	 * `mismatch` otherwise.
	 */
	setTeacher(shape: ModelShape, parameters: Float32Array): void;
	/**
	 * Returns log-probabilities and entropies at temperature 1, and the divergence before weighting by alpha and
	 * temperature.
	 */
	updateDistill(
		rows: readonly DistillRow[],
		settings: DistillSettings,
		optimizer: OptimizerSettings,
	): Promise<UpdateResult & { readonly divergence: number }>;
	/** Returns a copy of the policy's weights. */
	policyParameters(): Promise<Float32Array>;
	/**
	 * Sets the weights that `sample` uses for the sampler, which do not change with updates. Takes effect after all
	 * pending requests to the sampler.
	 */
	setSampler(parameters: Float32Array): Promise<void>;
	/** Copies the current weights to the reference. Rejects with `busy` during another operation, as do the methods below. */
	setReference(): Promise<void>;
	readonly hasReference: boolean;
	/** Returns a copy. */
	referenceParameters(): Promise<Float32Array | null>;
	restoreReference(parameters: Float32Array): Promise<void>;
	resetOptimizer(): Promise<void>;
	state(): Promise<LearnerState>;
	restore(state: LearnerState): Promise<void>;
	/** Value models in addition to the policy, each with its own trunk. */
	readonly heads: readonly HeadName[];
	readonly headParameters: readonly ParameterSpec[];
	/** Adds a head, initialized from the policy's trunk (with a value of 0.5 for any text) or with the given weights. */
	addHead(head: HeadName, parameters?: Float32Array): Promise<void>;
	/**
	 * Returns the head's values for each row: after the prompt, and after each completion token.
	 * @param logprobs log-probabilities of completion tokens under the policy, if known; not used by reward models
	 */
	values(rows: readonly Sequence[], head: HeadName, logprobs?: readonly PerToken[]): Promise<PerToken[]>;
	updateHead(head: HeadName, rows: readonly ValueRow[], optimizer: OptimizerSettings): Promise<ValueUpdateResult>;
	/** Updates the reward model on pairs of rows, preferred row first. The loss is the mean over pairs. */
	updateRewardModel(rows: readonly Sequence[], optimizer: OptimizerSettings): Promise<ValueUpdateResult>;
	/** @param clipRange maximum distance from the old value before a value is clipped */
	updateCritic(
		rows: readonly CriticRow[],
		settings: { readonly clipRange: number },
		optimizer: OptimizerSettings,
	): Promise<ValueUpdateResult>;
	/** Returns a head's state. Moments exist only after the first update or a restore. */
	headState(head: HeadName): Promise<LearnerState>;
	headWeights(head: HeadName): Promise<Float32Array>;
	restoreHead(head: HeadName, state: LearnerState): Promise<void>;
	resetHeadOptimizer(head: HeadName): Promise<void>;
	dispose(): Promise<void>;
}
