import { latentSchema } from '../../protocol/recipeKeys/imitationStages.ts';
import { defaultsOf } from '../../protocol/recipeKeys/keyDefaults.ts';

/**
 * Curriculum from written to latent reasoning (COCONUT, Hao et al. 2024, arXiv 2412.06769, section 3): in stage k, the
 * first k steps of a worked solution are replaced by k times `thoughts_per_step` latent thoughts.
 */
export interface LatentSettings {
	/** Number of stages after stage 0 (in stage 0, all steps are written). */
	readonly stages: number;
	readonly thoughts_per_step: number;
	/** Number of updates in every stage except the last, which gets the rest. */
	readonly steps_per_stage: number;
	/** Text between the steps of a worked solution. */
	readonly separator: string;
}

/** Form of the worked solutions in an update. */
export interface LatentForm {
	/** 0-based stage, which is also the number of replaced steps. */
	readonly stage: number;
	/** Number of latent thoughts in every completion. */
	readonly thoughts: number;
	readonly separator: string;
}

/** Returns the form of the rows in an update. @param update number of updates before this one */
export function latentFormAt(settings: LatentSettings, update: number): LatentForm {
	const { stages, steps_per_stage, thoughts_per_step, separator } = settings;
	const stage = Math.min(stages, Math.floor(update / steps_per_stage));
	return { stage, thoughts: thoughts_per_step * stage, separator };
}

/**
 * Returns the form of the rows in a run's last update; null if it has no latent thoughts.
 * @param stages resolved stages
 * @param progress stage index of the next update, and number of updates completed in that stage
 */
export function latentFormIn(
	stages: readonly object[],
	progress: { readonly stageIndex: number; readonly stageStep: number },
): LatentForm | null {
	const isOver = progress.stageIndex >= stages.length;
	const stage = stages[isOver ? stages.length - 1 : progress.stageIndex];
	const { latent, steps } = stage as { readonly latent?: LatentSettings; readonly steps: number };
	if (latent === undefined) return null;
	return latentFormAt(latent, Math.max(0, (isOver ? steps : progress.stageStep) - 1));
}

/** Returns whether an update is the first one in a stage after stage 0. */
export function beginsLatentStage(settings: LatentSettings, update: number): boolean {
	return update > 0 && latentFormAt(settings, update).stage > latentFormAt(settings, update - 1).stage;
}

/** Returns the steps of a solution that are still written; empty if all of them are latent. */
export function writtenSteps(solution: string, { stage, separator }: LatentForm): string {
	return solution.split(separator).slice(stage).join(separator);
}

/** A stage of a recipe, as written or resolved. */
interface MaybeLatent {
	readonly latent?: (Pick<LatentSettings, 'stages'> & { readonly thoughts_per_step?: number | undefined }) | undefined;
}

/**
 * Returns the maximum number of tokens for latent thoughts in a prompt, including the tokens around them; 0 if there
 * are none.
 */
export function latentTokens(stages: readonly object[]): number {
	const fallback = defaultsOf(latentSchema).thoughts_per_step;
	const counts = (stages as readonly MaybeLatent[]).map(({ latent }) =>
		latent === undefined ? 0 : 2 + latent.stages * (latent.thoughts_per_step ?? fallback),
	);
	return Math.max(0, ...counts);
}
