import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import type { StageOutput, StageState } from '../protocol/pipeline.ts';
import type { NamedStage } from '../protocol/pipelineRecipe.ts';

/** A stage whose inputs are there, and its folder. */
export interface StageWork {
	readonly stage: NamedStage;
	readonly recipe: ResolvedRecipe;
	readonly folder: string;
	/** Continue what is there. */
	readonly resume: boolean;
	/** The embedded engine's program. */
	readonly engine: string;
	/** Seconds that the stage was worked on before. */
	readonly spent: number;
	/** Fires when the pipeline is to stop. */
	readonly signal: AbortSignal;
	/** Tells how far it is; what is told is in pipeline.json soon. */
	tell(news: Partial<Pick<StageState, 'attempt' | 'progress' | 'spent'>>): void;
}

/** How a stage ended; a failure is thrown. */
export type StageEnd =
	| { readonly kind: 'stopped' }
	| {
			readonly kind: 'finished';
			readonly outputs: readonly StageOutput[];
			readonly accuracy: number | null;
			/** Why it was ended before its time. */
			readonly cut?: string;
			/** What of it failed, though it finished. */
			readonly partial?: string;
	  };
