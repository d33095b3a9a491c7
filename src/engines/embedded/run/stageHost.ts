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
import type { Learner, OptimizerSettings, UpdateResult } from '../learner.ts';
import type { LabeledSteps } from './heads/labelFile.ts';
import type { ImitationParts } from './imitation/imitationParts.ts';
import type { PreferencePairs } from './preference/pairFiles.ts';
import type { ProblemFeed } from './problemFeed.ts';

/** Everything a run trains with, created before the first step. */
export interface TrainingParts {
	readonly recipe: ResolvedRecipe;
	readonly learner: Learner;
	readonly source: ProblemSource;
	readonly feed: ProblemFeed;
	readonly tokenizer: Tokenizer;
	readonly template: Template;
	readonly rewards: RecipeScorers;
	/** Step label files by index of the stage that uses them. */
	readonly labels: ReadonlyMap<number, LabeledSteps>;
	/** Preference pairs by index of the stage that uses them. */
	readonly pairs: ReadonlyMap<number, PreferencePairs>;
	readonly imitation: ImitationParts;
}

export type { Verdict };

/**
 * Data produced by a stage: files under data/ of the run directory, each complete or absent. Names are chosen by the
 * stage.
 */
export interface RunData {
	/** null if it does not exist. */
	read(name: string): Promise<string | null>;
	write(name: string, content: string | Iterable<string>): Promise<void>;
	remove(name: string): Promise<void>;
}

/** Services of the run for its stages. */
export interface StageHost {
	readonly parts: TrainingParts;
	readonly progress: Progress;
	readonly watch: Stopwatch;
	/**
	 * Records an update: writes metrics, then (at the end of a batch) evaluates, checkpoints and handles external
	 * requests.
	 */
	endUpdate(report: UpdateReport): Promise<Verdict>;
	/** Starts writing rollouts under the step that uses them first; `endUpdate` waits for it. */
	writeRollouts(step: number, lines: readonly RolloutLine[]): void;
	/** Files under data/ of the run directory. */
	readonly data: RunData;
	/** Adds an event at the current step. */
	event(event: { readonly type: string; readonly [key: string]: unknown }): void;
	alert(level: AlertLevel, message: string): void;
	/** Writes reward output to the log of the run. */
	noteOutput(reward: string, lines: readonly string[]): void;
	/** Reports now and then that a reward fails on some rows while the run continues. */
	noteFailures(failures: RewardFailures): void;
	/** Pauses before a batch whose rewards failed on too many rows, until the user continues. */
	holdBatch(failures: RewardFailures): Promise<Verdict>;
	/** Handles requests between batches; also called after a batch was given up. */
	openGate(): Promise<Verdict>;
	/** Fires if the run must stop and the batch takes too long to wait for. */
	readonly interrupt: AbortSignal;
}

export function optimizerSettings(stage: ResolvedUpdatingStage, learningRate: number): OptimizerSettings {
	return {
		learningRate,
		beta1: stage.adam_beta1,
		beta2: stage.adam_beta2,
		epsilon: stage.adam_epsilon,
		weightDecay: stage.weight_decay,
		maxGradNorm: stage.max_grad_norm,
	};
}

/** A non-finite gradient has ruined the weights: the run must neither continue nor write them to a checkpoint. */
export function checkFinite(result: Pick<UpdateResult, 'loss' | 'gradNorm'>, step: number): void {
	if (Number.isFinite(result.loss) && Number.isFinite(result.gradNorm)) return;
	throw new Failure(
		'invalid',
		`Training diverged: the gradient of step ${step} is not a finite number.`,
		'Lower the learning rate, then start from a checkpoint before this step.',
	);
}
