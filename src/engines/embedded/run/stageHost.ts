import { Failure } from '../../../base/failure.ts';
import type { ProblemSource } from '../../../core/dataset/problemSource.ts';
import type { ResolvedRecipe, ResolvedUpdatingStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { Template } from '../../../core/text/template.ts';
import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import type { AlertLevel } from '../../../protocol/alert.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RecipeScorers } from '../../../rewards/createScorers.ts';
import type { Progress } from '../../shared/progress.ts';
import type { UpdateReport, Verdict } from '../../shared/runCourse.ts';
import type { RewardFailures } from '../../shared/scoreBatch.ts';
import type { Stopwatch } from '../../shared/stopwatch.ts';
import type { Learner, OptimiserSettings, UpdateResult } from '../learner.ts';
import type { LabelledSteps } from './heads/labelFile.ts';
import type { ImitationParts } from './imitation/imitationParts.ts';
import type { PreferencePairs } from './preference/pairFiles.ts';
import type { ProblemFeed } from './problemFeed.ts';

/** What a run trains with; all of it is there before the first step. */
export interface TrainingParts {
	readonly recipe: ResolvedRecipe;
	readonly learner: Learner;
	readonly source: ProblemSource;
	readonly feed: ProblemFeed;
	readonly tokenizer: Tokenizer;
	readonly template: Template;
	readonly rewards: RecipeScorers;
	/** Files of labeled steps by the number of the stage that learns from them. */
	readonly labels: ReadonlyMap<number, LabelledSteps>;
	/** Pairs by the number of the stage that learns from them. */
	readonly pairs: ReadonlyMap<number, PreferencePairs>;
	readonly imitation: ImitationParts;
}

export type { Verdict };

/** Data that a stage makes: files under data/ of the run directory, each whole or absent. Names are the stage's own. */
export interface RunData {
	/** null: there is none. */
	read(name: string): Promise<string | null>;
	write(name: string, content: string | Iterable<string>): Promise<void>;
	remove(name: string): Promise<void>;
}

/** What a stage needs of the run around it. */
export interface StageHost {
	readonly parts: TrainingParts;
	readonly progress: Progress;
	readonly watch: Stopwatch;
	/** Books an update: metrics to disk, then (at the end of a batch) evaluation, checkpoint and requests from outside. */
	endUpdate(report: UpdateReport): Promise<Verdict>;
	/** Starts writing rollouts under the step that they feed first; `endUpdate` waits for it. */
	writeRollouts(step: number, lines: readonly RolloutLine[]): void;
	/** Files under data/ of the run directory. */
	readonly data: RunData;
	/** Adds an event under the step that is being done. */
	event(event: { readonly type: string; readonly [key: string]: unknown }): void;
	alert(level: AlertLevel, message: string): void;
	/** What a reward printed goes to the run's log. */
	noteOutput(reward: string, lines: readonly string[]): void;
	/** A reward failed on some rows, and the run goes on: said once in a while. */
	noteFailures(failures: RewardFailures): void;
	/** Pauses before a batch whose rewards failed on too many rows, until a person wants it tried again. */
	holdBatch(failures: RewardFailures): Promise<Verdict>;
	/** Does what was asked for between batches; after a batch was given up. */
	openGate(): Promise<Verdict>;
	/** Fires when the run is to stop and a batch takes too long to be waited for. */
	readonly interrupt: AbortSignal;
}

export function optimiserSettings(stage: ResolvedUpdatingStage, learningRate: number): OptimiserSettings {
	return {
		learningRate,
		beta1: stage.adam_beta1,
		beta2: stage.adam_beta2,
		epsilon: stage.adam_epsilon,
		weightDecay: stage.weight_decay,
		maxGradNorm: stage.max_grad_norm,
	};
}

/** A gradient that is no number has spoilt the weights: the run must not go on, nor write a checkpoint of them. */
export function checkFinite(result: Pick<UpdateResult, 'loss' | 'gradNorm'>, step: number): void {
	if (Number.isFinite(result.loss) && Number.isFinite(result.gradNorm)) return;
	throw new Failure(
		'invalid',
		`Training diverged: the gradient of step ${step} is not a finite number.`,
		'Lower the learning rate, then start from a checkpoint before this step.',
	);
}
