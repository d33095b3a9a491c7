import { Failure } from '../../../base/failure.ts';
import type { ProblemSource } from '../../../core/dataset/problemSource.ts';
import type { ResolvedRecipe, ResolvedUpdatingStage } from '../../../core/recipe/resolvedRecipe.ts';
import type { Template } from '../../../core/text/template.ts';
import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import type { AlertLevel } from '../../../protocol/alert.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RecipeScorers } from '../../../rewards/createScorers.ts';
import type { UpdateReport } from '../../shared/courseOptions.ts';
import type { Progress } from '../../shared/progress.ts';
import type { Verdict } from '../../shared/runCourse.ts';
import type { RewardFailures } from '../../shared/scoreBatch.ts';
import type { Stopwatch } from '../../shared/stopwatch.ts';
import type { Learner, OptimizerSettings, Sample, SampleRequest, UpdateResult } from '../learner.ts';
import type { EpisodePlayer } from './episodes/episodePlayer.ts';
import type { LabeledSteps } from './heads/labelFile.ts';
import type { ImitationParts } from './imitation/imitationParts.ts';
import type { PreferencePairs } from './preference/pairFiles.ts';
import type { ProblemFeed } from './problemFeed.ts';

/** Everything that training needs, created before the first step. */
export interface TrainingParts {
	readonly recipe: ResolvedRecipe;
	readonly learner: Learner;
	readonly source: ProblemSource;
	readonly feed: ProblemFeed;
	readonly tokenizer: Tokenizer;
	readonly template: Template;
	readonly rewards: RecipeScorers;
	/** Step label files, keyed by the index of the stage that uses them. */
	readonly labels: ReadonlyMap<number, LabeledSteps>;
	/** Preference pairs, keyed by the index of the stage that uses them. */
	readonly pairs: ReadonlyMap<number, PreferencePairs>;
	readonly imitation: ImitationParts;
	/** Plays episodes in the recipe's environment; null if the recipe has none and completions are not episodes. */
	readonly episodes: EpisodePlayer | null;
}

export type { Verdict };

/**
 * Files that stages write to data/ in the run directory. Each file is either complete or absent. Stages choose the
 * names.
 */
export interface RunData {
	/** Returns the file's text, or null if it does not exist. */
	read(name: string): Promise<string | null>;
	write(name: string, content: string | Iterable<string>): Promise<void>;
	remove(name: string): Promise<void>;
}

/** Parts of a run needed to sample and score a generation batch. */
export interface SamplingHost
	extends Pick<StageHost, 'parts' | 'watch' | 'interrupt' | 'sample' | 'noteOutput' | 'noteFailures'> {
	/** Counters that sampling reads and advances. */
	readonly progress: Pick<Progress, 'step' | 'generations' | 'tokens' | 'curriculum'>;
}

/** Services that a run provides to its stages. */
export interface StageHost {
	readonly parts: TrainingParts;
	readonly progress: Progress;
	readonly watch: Stopwatch;
	/** Samples with the weights intended for a generation batch. */
	sample(request: SampleRequest): Promise<Sample[]>;
	/**
	 * Records an update. Writes metrics, then, at the end of a batch, evaluates, checkpoints and handles external
	 * requests.
	 */
	endUpdate(report: UpdateReport): Promise<Verdict>;
	/** Starts writing rollouts under the first step that uses them. `endUpdate` waits for the write. */
	writeRollouts(step: number, lines: readonly RolloutLine[]): void;
	/** Files in data/ in the run directory. */
	readonly data: RunData;
	/** Appends an event at the current step. */
	event(event: { readonly type: string; readonly [key: string]: unknown }): void;
	alert(level: AlertLevel, message: string): void;
	/** Writes reward output to the run's log. */
	noteOutput(reward: string, lines: readonly string[]): void;
	/** Reports that a reward fails on some rows while the run continues. Rate-limited. */
	noteFailures(failures: RewardFailures): void;
	/** Holds a batch with too many failed reward rows: pauses before it until the user continues. */
	holdBatch(failures: RewardFailures): Promise<Verdict>;
	/** Handles requests between batches. Also called after a batch is abandoned. */
	openGate(): Promise<Verdict>;
	/** Aborts when the run must stop and the current batch would take too long to finish. */
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

/** Throws on a non-finite gradient: the weights are ruined, so the run must not continue or checkpoint them. */
export function checkFinite(result: Pick<UpdateResult, 'loss' | 'gradNorm'>, step: number): void {
	if (Number.isFinite(result.loss) && Number.isFinite(result.gradNorm)) return;
	throw new Failure(
		'invalid',
		`Training diverged: the gradient at step ${step} is not finite.`,
		'Lower the learning rate, then start from an earlier checkpoint.',
	);
}
