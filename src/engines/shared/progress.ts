import type { Hyperparameters } from '../../protocol/control.ts';

/**
 * The position of a run. All randomness is a function of the recipe's seed and of these counters (and of the cursor of
 * the problem feed), so they are the random state stored in a checkpoint.
 */
export interface Progress {
	/** Optimizer updates so far, over all stages. */
	step: number;
	/** The stage of the next update. */
	stageIndex: number;
	/** Updates of this stage so far. */
	stageStep: number;
	/** Tokens trained on (sft), or prompt and completion tokens sampled (grpo), as in TRL's `num_tokens`. */
	tokens: number;
	/** Generation batches sampled, over all stages. */
	generations: number;
	/** Hyperparameter changes in effect; they end with the stage. */
	hyperparameters: Hyperparameters;
	/** The best held-out accuracy so far. */
	best: { step: number; accuracy: number } | null;
	/** The step of the last held-out evaluation in this run directory. */
	evaluatedAt: number | null;
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
	};
}
