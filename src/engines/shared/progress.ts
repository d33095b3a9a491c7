import type { PassRates } from '../../core/curriculum/passRates.ts';
import type { EntropyBonus } from '../../core/grpo/entropyBonus.ts';
import type { Hyperparameters } from '../../protocol/control.ts';

/**
 * A run's position. All randomness is a function of the recipe's seed, these counters and the problem feed's cursor, so
 * a checkpoint needs no other random state.
 */
export interface Progress {
	/** Number of optimizer updates so far, across all stages. */
	step: number;
	/** Index of the stage that performs the next update. */
	stageIndex: number;
	/** Number of updates so far in the current stage. */
	stageStep: number;
	/** Number of tokens trained on (sft) or sampled, including prompts (grpo), as in TRL's `num_tokens`. */
	tokens: number;
	/** Number of generation batches sampled, across all stages. */
	generations: number;
	/** Hyperparameter changes in effect. Reset at the end of the stage. */
	hyperparameters: Hyperparameters;
	/** Best held-out accuracy so far. */
	best: { step: number; accuracy: number } | null;
	/** Step of the last held-out evaluation in this run directory. */
	evaluatedAt: number | null;
	/** Entropy bonus of the stage, once an update has used one. Reset at the end of the stage. */
	entropyBonus: EntropyBonus | null;
	/** Curriculum of the stage, once it has started. Reset at the end of the stage. */
	curriculum: CurriculumProgress | null;
}

/** Pass rates of the problems that a stage chooses from. Replaced as a whole, never modified. */
export interface CurriculumProgress extends PassRates {
	/** Position of the first of these problems in the feed. */
	readonly first: number;
}

export function startOfRun(): Progress {
	return {
		step: 0,
		stageIndex: 0,
		stageStep: 0,
		tokens: 0,
		generations: 0,
		hyperparameters: {},
		best: null,
		evaluatedAt: null,
		entropyBonus: null,
		curriculum: null,
	};
}

export function startNextStage(progress: Progress): void {
	progress.stageIndex++;
	progress.stageStep = 0;
	progress.hyperparameters = {};
	progress.entropyBonus = null;
	progress.curriculum = null;
}
