import type { Hyperparameters } from '../../protocol/control.ts';

/**
 * Where a run stands. Everything random is a function of the recipe's seed and of these counters (and of the problem
 * feed's cursor), so they are the random state that a checkpoint holds.
 */
export interface Progress {
	/** Optimizer updates done, over all stages. */
	step: number;
	/** The stage that the next update belongs to. */
	stageIndex: number;
	/** Updates that this stage has had. */
	stageStep: number;
	/** Tokens trained on (sft) or of prompts and completions sampled (grpo), as TRL's `num_tokens`. */
	tokens: number;
	/** Generation batches sampled, over all stages. */
	generations: number;
	/** Changes of hyper-parameters in force; they end with the stage. */
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
