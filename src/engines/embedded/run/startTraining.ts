import { Failure } from '../../../base/failure.ts';
import type { BatchUse } from '../../../core/memory/microBatchLimits.ts';
import type { ResolvedHeadStage, ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import type { RecipeScorers } from '../../../rewards/createScorers.ts';
import type { OpenedDataset } from '../../../runs/openDataset.ts';
import { checkColumns, checkSolutions, checkStages, checkTexts } from '../../shared/dataChecks.ts';
import { type Progress, startOfRun } from '../../shared/progress.ts';
import type { ProviderName } from '../compute/providers.ts';
import { createLearner, type ReducedRows } from '../createLearner.ts';
import type { Learner } from '../learner.ts';
import { parameterSpecs } from '../model/parameters.ts';
import type { BatchOrder } from './ahead/batchOrder.ts';
import {
	readCheckpoint,
	type StoredCheckpoint,
	storedHeads,
	storedHeadTraining,
	storedLearnerState,
	storedOrders,
	storedParameters,
	storedReference,
} from './checkpointFolder.ts';
import { EpisodePlayer } from './episodes/episodePlayer.ts';
import { EpisodeText } from './episodes/episodeText.ts';
import type { OpenedEnvironment } from './episodes/openedEnvironment.ts';
import { rehearse } from './episodes/rehearsal.ts';
import { LabeledSteps, type LabelTexts } from './heads/labelFile.ts';
import type { ImitationFiles } from './imitation/imitationFiles.ts';
import { imitationParts } from './imitation/imitationParts.ts';
import type { ModelAndTokenizer } from './modelAndTokenizer.ts';
import { type PairFiles, pairsByStage } from './preference/pairFiles.ts';
import { ProblemFeed } from './problemFeed.ts';
import { resolveModel } from './resolveModel.ts';
import type { TrainingParts } from './stageHost.ts';

export interface StartedTraining {
	readonly parts: TrainingParts;
	readonly progress: Progress;
	readonly vocabulary: string;
	/** Generation batches that were in progress at the checkpoint. */
	readonly ahead: readonly BatchOrder[];
}

export interface StartOptions {
	readonly recipe: ResolvedRecipe;
	/** Device used in the last attempt, which `auto` reuses: a resumed run must use the same arithmetic. */
	readonly lastDevice: ProviderName | null;
	/**
	 * Total GPU memory that micro-batches are sized for, in bytes, as measured in the first attempt; null if no tool
	 * reported it.
	 */
	readonly deviceBytes: number | null;
	readonly dataset: OpenedDataset;
	/** Checkpoint to continue from, or null to start with the recipe's model. */
	readonly checkpoint: StoredCheckpoint | null;
	/** The recipe's rewards, which load while the model is being created. */
	readonly rewards: Promise<RecipeScorers>;
	readonly onLeftOut: (count: number, why: string) => void;
	/** Called with the reduced number of rows per micro-batch when GPU memory is full. */
	readonly onFewerRows: (use: BatchUse, rows: number) => void;
	/** Rows per micro-batch, if an earlier attempt had to reduce them on a GPU. */
	readonly reducedRows: ReducedRows;
	/** Step label files, for stages that train on them. */
	readonly labels: LabelTexts;
	readonly pairs: PairFiles;
	readonly imitation: ImitationFiles;
	/** The recipe's environment, or null if it has none. */
	readonly environment: OpenedEnvironment | null;
	/** Aborts when the run is asked to stop. */
	readonly signal?: AbortSignal;
}

function progressOf({ state }: StoredCheckpoint): Progress {
	return {
		step: state.step,
		stageIndex: state.stage.index,
		stageStep: state.stage.step,
		tokens: state.tokens,
		generations: state.random.generations,
		hyperparameters: state.hyperparameters,
		best: state.best,
		evaluatedAt: state.evaluatedAt,
		entropyBonus: state.entropyBonus ?? null,
		curriculum: state.curriculum ?? null,
	};
}

function makeLearner(
	{ recipe, lastDevice, deviceBytes, onFewerRows, reducedRows }: StartOptions,
	model: ModelAndTokenizer,
	weights: StoredCheckpoint | null,
): Promise<Learner> {
	const { device, precision = 'float32', workers, sampleRows, trainRows } = recipe;
	const preferred = lastDevice === null ? {} : { preferred: lastDevice };
	const sizes = { shape: model.shape, workers, sampleRows, trainRows };
	const common = { ...sizes, device, precision, ...preferred, deviceBytes, onFewerRows, reducedRows };
	if (weights === null) return createLearner({ ...common, seed: recipe.seed });
	return createLearner({ ...common, parameters: storedParameters(weights, parameterSpecs(model.shape)) });
}

/** Rejects recipes that this engine or the data cannot support, before any work starts. */
function check({ recipe, dataset }: StartOptions): void {
	if (recipe.engine !== 'embedded') {
		throw new Failure('unsupported', `The embedded engine cannot run recipes for the "${recipe.engine}" engine.`);
	}
	checkTexts(recipe, dataset.source);
	checkSolutions(recipe, dataset.source);
}

/** Awaits the rewards. If a reward file is invalid, disposes of everything created in the meantime. */
async function rewardsFor({ rewards, dataset, recipe }: StartOptions, learner: Learner): Promise<RecipeScorers> {
	try {
		const loaded = await rewards;
		checkColumns(loaded, dataset.source.training(recipe.seed, 0));
		return loaded;
	} catch (error) {
		await learner.dispose();
		throw error;
	}
}

/** Tokenizes the step label files. */
function labelsOf({ recipe, labels, onLeftOut }: StartOptions, model: ModelAndTokenizer): Map<number, LabeledSteps> {
	return new Map(
		[...labels.byStage].map(([index, text]) => {
			const stage = recipe.stages[index] as ResolvedHeadStage;
			const settings = stage.labels as NonNullable<ResolvedHeadStage['labels']>;
			const steps = new LabeledSteps(text, settings, model.tokenizer, model.shape.context, recipe.seed);
			if (steps.leftOut > 0)
				onLeftOut(steps.leftOut, `solutions in ${text.name} do not fit the model's context or vocabulary`);
			return [index, steps];
		}),
	);
}

function playerFor(recipe: ResolvedRecipe, environment: OpenedEnvironment, model: ModelAndTokenizer): EpisodePlayer {
	const text = new EpisodeText(model.tokenizer, recipe.template, environment.tools);
	const limits = { maxTurns: recipe.environment?.maxTurns ?? null, context: model.shape.context };
	return new EpisodePlayer(environment, text, limits, { seed: recipe.seed, states: recipe.log.states });
}

/** Creates everything that training needs, and restores weights and counters when continuing. */
export async function startTraining(options: StartOptions): Promise<StartedTraining> {
	const { recipe, dataset, checkpoint } = options;
	check(options);
	const { source } = dataset;
	const weights = checkpoint ?? ('path' in recipe.model ? await readCheckpoint(recipe.model.path) : null);
	const { environment, signal } = options;
	const rehearsal =
		environment === null || weights !== null ? null : await rehearse(environment, recipe, source, signal);
	const model = resolveModel(recipe, source, weights, options.imitation, rehearsal);
	if (checkpoint !== null) checkStages(checkpoint.folder, checkpoint.state.stage.index, recipe);
	const labels = labelsOf(options, model);
	const pairs = pairsByStage(options.pairs, model, recipe.seed, options.onLeftOut);
	const imitation = imitationParts(recipe, source, options.imitation, model, options.onLeftOut);
	const learner = await makeLearner(options, model, weights);
	if (weights !== null) {
		for (const [name, flat] of storedHeads(weights, learner.headParameters)) await learner.addHead(name, flat);
	}
	if (checkpoint !== null) {
		const trained = storedHeadTraining(checkpoint, learner.headParameters);
		if (trained !== null) await learner.restoreHead(trained.name, trained.state);
		await learner.restore(storedLearnerState(checkpoint, learner.parameters));
		const reference = storedReference(checkpoint, learner.parameters);
		if (reference) await learner.restoreReference(reference);
	}
	const feed = new ProblemFeed({
		source,
		tokenizer: model.tokenizer,
		template: recipe.template,
		context: model.shape.context,
		seed: recipe.seed,
		onLeftOut: options.onLeftOut,
	});
	feed.cursor = checkpoint?.state.random.problems ?? 0;
	return {
		parts: {
			recipe,
			learner,
			source,
			feed,
			tokenizer: model.tokenizer,
			template: recipe.template,
			rewards: await rewardsFor(options, learner),
			labels,
			pairs,
			imitation,
			episodes: environment === null ? null : playerFor(recipe, environment, model),
		},
		progress: checkpoint === null ? startOfRun() : progressOf(checkpoint),
		vocabulary: model.vocabulary,
		ahead: checkpoint === null ? [] : storedOrders(checkpoint, learner.parameters),
	};
}
