import { Failure } from '../../base/failure.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { createBuiltInScorer } from '../../core/reward/builtInScorer.ts';
import { createScorers } from '../../rewards/createScorers.ts';
import type { OpenedDataset } from '../../runs/openDataset.ts';
import type { Learner } from '../learner.ts';
import { parameterSpecs } from '../model/parameters.ts';
import { createLearner } from '../ortLearner.ts';
import {
	readCheckpoint,
	type StoredCheckpoint,
	storedLearnerState,
	storedParameters,
	storedReference,
} from './checkpointFolder.ts';
import { ProblemFeed } from './problemFeed.ts';
import { type Progress, startOfRun } from './progress.ts';
import { type ModelAndTokenizer, resolveModel } from './resolveModel.ts';
import type { TrainingParts } from './stageHost.ts';

export interface StartedTraining {
	readonly parts: TrainingParts;
	readonly progress: Progress;
	readonly vocabulary: string;
}

export interface StartOptions {
	readonly recipe: ResolvedRecipe;
	readonly dataset: OpenedDataset;
	/** Where to continue; null: from the recipe's model. */
	readonly checkpoint: StoredCheckpoint | null;
	readonly onLeftOut: (count: number, why: string) => void;
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
	};
}

function makeLearner(
	recipe: ResolvedRecipe,
	model: ModelAndTokenizer,
	weights: StoredCheckpoint | null,
): Promise<Learner> {
	const { device, workers, sampleRows, trainRows } = recipe;
	const common = { shape: model.shape, device, workers, sampleRows, trainRows };
	if (weights === null) return createLearner({ ...common, seed: recipe.seed });
	return createLearner({ ...common, parameters: storedParameters(weights, parameterSpecs(model.shape)) });
}

/** Refuses, before any work, what the recipe asks for and this engine or its data cannot do. */
function check({ recipe, dataset }: StartOptions): void {
	if (recipe.engine !== 'embedded') {
		throw new Failure('unsupported', `The embedded engine cannot run a recipe of the "${recipe.engine}" engine.`);
	}
	const { hasSolutions, name } = dataset.source;
	if (!hasSolutions && recipe.stages.some((stage) => stage.type === 'sft')) {
		let worked = false;
		for (let i = 0; i < 10_000 && !worked; i++) {
			const { solution, answer } = dataset.source.training(recipe.seed, i);
			worked = solution !== null && answer !== null;
		}
		if (!worked) {
			throw new Failure(
				'invalid',
				`The dataset ${name} has no worked solutions, which the sft stage learns from.`,
				'Name their column as "solution" in the recipe\'s dataset, or leave out the sft stage.',
			);
		}
	}
}

/** Everything a run trains with, with the weights and the counters of where it continues. */
export async function startTraining(options: StartOptions): Promise<StartedTraining> {
	const { recipe, dataset, checkpoint } = options;
	check(options);
	const { source } = dataset;
	const scorers = createScorers(recipe.rewards, recipe.template, source.verify);
	const weights = checkpoint ?? ('path' in recipe.model ? await readCheckpoint(recipe.model.path) : null);
	const model = resolveModel(recipe, source, weights);
	if (checkpoint !== null && checkpoint.state.stage.index >= recipe.stages.length) {
		const { index } = checkpoint.state.stage;
		if (recipe.stages.length < index) {
			throw new Failure(
				'mismatch',
				`The checkpoint ${checkpoint.folder} was written after stage ${index}, but the recipe has ${recipe.stages.length}.`,
				'Take an earlier checkpoint or add stages to the recipe.',
			);
		}
	}
	const learner = await makeLearner(recipe, model, weights);
	if (checkpoint !== null) {
		learner.restore(storedLearnerState(checkpoint, learner.parameters));
		const reference = storedReference(checkpoint, learner.parameters);
		if (reference) learner.restoreReference(reference);
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
			scorers,
			accuracy: createBuiltInScorer('accuracy', { weight: 1, tags: recipe.template, verify: source.verify }),
		},
		progress: checkpoint === null ? startOfRun() : progressOf(checkpoint),
		vocabulary: model.vocabulary,
	};
}
