import { Failure } from '../../base/failure.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { type ResolvedBuiltIn, withAbsolutePaths } from '../../protocol/recipeKeys/builtInRewards.ts';
import { environmentSchema } from '../../protocol/recipeKeys/environmentRecipe.ts';
import {
	checkpointSchema,
	evaluationSchema,
	givenModelSchema,
	logSchema,
	newModelSchema,
	type Recipe,
	type RewardSpec,
	type Stage,
} from '../../protocol/recipeKeys/recipe.ts';
import type { KeyContext, Keys } from '../../protocol/recipeKeys/recipeKey.ts';
import { scoringSchema } from '../../protocol/recipeKeys/scoringSettings.ts';
import { learnsFromTexts } from '../../protocol/recipeKeys/stageKinds.ts';
import { pytorchSchema, raySchema } from '../../protocol/recipeKeys/torchRecipe.ts';
import { createTask } from '../dataset/createTask.ts';
import { latentTokens } from '../latent/latentCurriculum.ts';
import { latentTags } from '../text/latentTags.ts';
import { resolveTemplate, withCallTags } from '../text/template.ts';
import { checkRecipe } from './checkRecipe.ts';
import { stageSchemaOf } from './filledStage.ts';
import { keyContext } from './keyContext.ts';
import type { Machine } from './machine.ts';
import { resolveDataset } from './resolveDataset.ts';
import {
	type ResolvedModel,
	type ResolvedPytorch,
	type ResolvedRecipe,
	type ResolvedReward,
	type ResolvedStage,
	resolvedRecipeSchema,
} from './resolvedRecipe.ts';
import { resolveKeys } from './resolveKeys.ts';
import { runDefaults } from './runDefaults.ts';
import { contextFor, type SequenceLengths, sequenceLengths } from './sequenceLengths.ts';

export type { Machine } from './machine.ts';

function resolveReward(reward: RewardSpec, machine: Machine): ResolvedReward {
	if ('use' in reward) {
		const named: ResolvedBuiltIn = { ...reward, name: reward.name ?? reward.use, weight: reward.weight ?? 1 };
		return withAbsolutePaths(named, (path) => machine.resolvePath(path));
	}
	return { file: machine.resolvePath(reward.file), name: reward.name ?? null, weight: reward.weight ?? null };
}

/**
 * Returns the number of rows per micro-batch. This is at most the default, and small enough for the smallest batch in
 * the run to occupy {@link runDefaults.sharers} workers, but not so small that passing gradients costs more time than
 * it saves. Only the stages determine it, not the machine or `workers`: how a gradient sum is split affects rounding,
 * so otherwise the same recipe and seed would give different numbers on a machine with a different core count.
 */
function microBatches(stages: readonly ResolvedStage[]): { sampleRows: number; trainRows: number } {
	const samples = (stage: ResolvedStage) =>
		stage.type === 'distill' && stage.max_completion_length !== undefined
			? stage.batch_size
			: !('prompts_per_step' in stage) || ('labels' in stage && stage.labels !== null)
				? null
				: stage.prompts_per_step * stage.num_generations;
	const sampled = stages.map(samples).filter((rows) => rows !== null);
	const updated = stages.map((stage) => {
		const rows = samples(stage);
		if (rows !== null && 'steps_per_generation' in stage) return rows / stage.steps_per_generation;
		if (rows !== null && 'num_mini_batches' in stage) return rows / stage.num_mini_batches;
		if ('pairs' in stage) return 2 * stage.batch_size;
		return 'batch_size' in stage ? stage.batch_size : 0;
	});
	const share = (max: number, batches: readonly number[]) =>
		Math.min(max, ...batches.map((rows) => Math.max(runDefaults.fewestRows, Math.ceil(rows / runDefaults.sharers))));
	return { sampleRows: share(runDefaults.sampleRows, sampled), trainRows: share(runDefaults.trainRows, updated) };
}

function resolveStage(stage: Stage, context: KeyContext): ResolvedStage {
	return resolveKeys(stageSchemaOf(stage.type) as { readonly keys: Keys }, stage, context) as ResolvedStage;
}

function resolveModel(
	recipe: Recipe,
	stages: readonly ResolvedStage[],
	lengths: SequenceLengths | null,
	context: KeyContext,
): ResolvedModel {
	const { model } = recipe;
	if ('path' in model) return resolveKeys(givenModelSchema, model, context);
	const completions = stages.flatMap((stage) =>
		'max_completion_length' in stage ? [stage.max_completion_length ?? 1] : [],
	);
	const teaches = stages.some(({ type }) => learnsFromTexts(type));
	const thinking = lengths && { ...lengths, prompt: lengths.prompt + latentTokens(stages) };
	const needed = thinking && contextFor(thinking, completions, teaches);
	return { ...resolveKeys(newModelSchema, model, context), context: model.context ?? needed };
}

/** Returns the settings for the pytorch engine, which include the recipe's precision. */
function resolvePytorch({ precision, pytorch }: Recipe, context: KeyContext): ResolvedPytorch {
	return resolveKeys(pytorchSchema, { precision, ...pytorch }, context);
}

/** Returns the recipe's template, with tags for tool calls and latent thoughts where the engine needs them. */
function templateOf(recipe: Recipe): ResolvedRecipe['template'] {
	const own = resolveTemplate(recipe.template);
	const tagged = recipe.engine === 'embedded' && recipe.environment !== undefined;
	const { think, answer, call, result, ...rest } = tagged ? withCallTags(own) : own;
	return {
		...rest,
		think: think && [...think],
		answer: answer && [...answer],
		...(call === undefined || !tagged ? {} : { call: [...call] }),
		...(result === undefined || !tagged ? {} : { result: [...result] }),
		...(latentTokens(recipe.stages) > 0 ? { latent: [...latentTags] } : {}),
	};
}

/**
 * Resolves a recipe: fills in all defaults, makes paths absolute, and freezes the engine's sizes, so that resuming on a
 * different machine computes the same result. Throws `invalid` for the first error that {@link checkRecipe} finds.
 */
export function resolveRecipe(recipe: Recipe, machine: Machine): ResolvedRecipe {
	const faults = checkRecipe(recipe);
	const [fault] = faults;
	if (fault) {
		const others = faults.length > 1 ? ` (${faults.length - 1} more)` : '';
		throw new Failure('invalid', `Invalid recipe: ${fault.message}${others}`);
	}
	return resolveChecked(recipe, machine);
}

/**
 * Like {@link resolveRecipe}, for a recipe that already passes {@link checkRecipe}, such as one that was just parsed.
 */
export function resolveChecked(recipe: Recipe, machine: Machine): ResolvedRecipe {
	const embedded = recipe.engine === 'embedded';
	const template = templateOf(recipe);
	const lengths = 'task' in recipe.dataset ? sequenceLengths(createTask(recipe.dataset), template) : null;
	const context = keyContext(machine, embedded, lengths);
	const stages = recipe.stages.map((stage) => resolveStage(stage, context));
	const workers = recipe.workers ?? Math.min(256, Math.max(1, Math.floor(machine.cores)));
	return {
		format: 1,
		name: recipe.name,
		engine: recipe.engine,
		device: recipe.device,
		...(embedded && recipe.precision !== undefined ? { precision: recipe.precision } : {}),
		whenBusy: recipe.whenBusy ?? 'queue',
		seed: recipe.seed,
		workers,
		...microBatches(stages),
		dataset: resolveDataset(recipe.dataset, context),
		model: resolveModel(recipe, stages, lengths, context),
		template,
		rewards: recipe.rewards.map((reward) => resolveReward(reward, machine)),
		...(recipe.environment === undefined
			? {}
			: { environment: resolveKeys(environmentSchema, recipe.environment, context) }),
		scoring: resolveKeys(scoringSchema, recipe.scoring, context),
		stages,
		...(embedded ? {} : { pytorch: resolvePytorch(recipe, context) }),
		...(recipe.engine === 'ray' ? { ray: resolveKeys(raySchema, recipe.ray, context) } : {}),
		evaluate: resolveKeys(evaluationSchema, recipe.evaluate, context),
		checkpoint: resolveKeys(checkpointSchema, recipe.checkpoint, context),
		log: resolveKeys(logSchema, recipe.log, context),
	};
}

/** Adds the settings that a run's recipe lacks when the run continues on a different engine. */
export function withEngineSettings(recipe: ResolvedRecipe): ResolvedRecipe {
	if (recipe.engine === 'embedded' || recipe.pytorch !== undefined) return recipe;
	// None of these settings are paths.
	const context = keyContext({ cores: 1, resolvePath: (path) => path }, false, null);
	const { precision, ...rest } = recipe;
	return { ...rest, pytorch: resolveKeys(pytorchSchema, { precision }, context) };
}

/** Decodes a run's recipe.json. Throws `invalid` with the location of the error. */
export function decodeResolvedRecipe(value: unknown, what = 'recipe.json'): ResolvedRecipe {
	return decodeOrThrow(resolvedRecipeSchema, value, what);
}
