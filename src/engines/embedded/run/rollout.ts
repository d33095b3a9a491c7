import type { CurriculumSettings } from '../../../core/curriculum/chooseProblems.ts';
import type { AdvantageKeys } from '../../../core/grpo/advantages/advantageSettings.ts';
import type { Metrics } from '../../../core/grpo/stepMetrics.ts';
import type { RolloutEpisode } from '../../../protocol/rolloutEpisode.ts';
import type { Message } from '../../../protocol/rolloutLine.ts';
import type { RewardFailures, RowScore } from '../../shared/scoreBatch.ts';
import type { Sample } from '../learner.ts';
import type { PosedProblem } from './problemFeed.ts';

/** Sampling settings for a stage type. */
export interface SamplingStage extends AdvantageKeys {
	readonly type: string;
	readonly prompts_per_step: number;
	readonly num_generations: number;
	readonly max_completion_length: number;
	readonly temperature: number;
	readonly dynamic_sampling?: boolean;
	readonly max_resamples?: number;
	readonly curriculum?: CurriculumKeys | undefined;
	readonly proposals?: ProposalKeys | undefined;
}

/** How a stage chooses its problems. */
export interface CurriculumKeys extends CurriculumSettings {
	/** Number of problems to choose from; default: all problems in the data. */
	readonly problems?: number | undefined;
	readonly decay: number;
}

/** How the policy poses its own problems. */
export interface ProposalKeys {
	/** Reward for a proposal that is not a valid problem for the task. */
	readonly invalid_reward: number;
}

/** A sampled completion. */
export interface Completion {
	readonly posed: PosedProblem;
	readonly sample: Sample;
	/** Completion text without special tokens. */
	readonly completion: string;
	/** The completion as conversation messages, in a recipe with an environment. */
	readonly messages?: readonly Message[];
}

/** A sampled and scored completion. */
export interface Rollout extends RowScore, Completion {
	/** Episode that produced the completion, in a recipe with an environment. */
	readonly episode?: RolloutEpisode;
}

/** Rollouts of one round of sampling, with the rows in each group contiguous. */
export interface ScoredGroups {
	readonly rows: readonly Rollout[];
	readonly failures: readonly RewardFailures[];
	/** Values that rewards passed to TRL's `log_metric`, and metrics for proposals. */
	readonly metrics: Metrics;
}

/** Thrown if too many rows in a batch have no reward. The batch has had no effect at this point. */
export class ScoringFailed extends Error {
	readonly failures: RewardFailures;

	constructor(failures: RewardFailures) {
		super(`"${failures.column}" failed`);
		this.failures = failures;
	}
}
