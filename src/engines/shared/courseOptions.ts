import type { Metrics } from '../../core/grpo/stepMetrics.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';
import type { RunWriter } from '../../runs/runWriter.ts';
import type { Progress } from './progress.ts';
import type { Past } from './runPast.ts';
import type { StepGate } from './stepGate.ts';

export interface CourseOptions {
	readonly recipe: ResolvedRecipe;
	readonly rewards: RecipeScorers;
	readonly writer: RunWriter;
	readonly gate: StepGate;
	readonly progress: Progress;
	/** Records left by earlier attempts. */
	readonly past: Past;
	/** Step of the run's own checkpoint that this attempt starts from, if any. */
	readonly checkpointAt: number | null;
	/** Called when the run's files change. */
	onChanged(): void;
}

/** A completed optimizer update. */
export interface UpdateReport {
	readonly metrics: Metrics;
	/**
	 * Whether this is the last update in its batch. Evaluations, checkpoints, pauses and the end of the run wait for a
	 * batch to end.
	 */
	readonly batchEnds: boolean;
	/** Number of updates completed before the batch. */
	readonly batchStart: number;
	/** Computes metrics that replace held-out accuracy, for stages that freeze the policy. */
	evaluate?(): Promise<Metrics>;
	/** Computes additional metrics whenever held-out accuracy is measured. */
	also?(): Promise<Metrics>;
}
