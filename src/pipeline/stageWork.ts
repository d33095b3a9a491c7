import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import type { StageOutput, StageState, StageUsage } from '../protocol/pipeline.ts';
import type { NamedStage } from '../protocol/recipeKeys/pipelineRecipe.ts';
import type { DeviceGroup } from '../runs/deviceQueue.ts';
import type { launchEngine } from '../runs/launchEngine.ts';

/** A stage whose inputs are ready, and its folder. */
export interface StageWork {
	readonly stage: NamedStage;
	readonly recipe: ResolvedRecipe;
	readonly folder: string;
	/** Whether to resume existing work. */
	readonly resume: boolean;
	/** Path to the embedded engine. */
	readonly engine: string;
	/** Starts a training stage's engine and resolves once it is running or has ended. */
	readonly launch: typeof launchEngine;
	/** Stages that may use the device at the same time as this one, or null if there are none. */
	readonly deviceGroup: DeviceGroup | null;
	/** Seconds spent on the stage so far. */
	readonly spent: number;
	/** Usage of earlier attempts at a search or an evaluation; null if there is none. */
	readonly usage: StageUsage | null;
	/** Aborts when the pipeline is stopped. */
	readonly signal: AbortSignal;
	/** Reports progress, which is then written to pipeline.json. */
	report(news: Partial<Pick<StageState, 'attempt' | 'progress' | 'spent' | 'usage'>>): void;
}

/** How a stage ended. Failures are thrown instead. */
export type StageEnd =
	| { readonly kind: 'stopped' }
	| {
			readonly kind: 'finished';
			readonly outputs: readonly StageOutput[];
			readonly accuracy: number | null;
			/** Why the stage ended early. */
			readonly cut?: string;
			/** What failed in a stage that finished anyway. */
			readonly partial?: string;
	  };
