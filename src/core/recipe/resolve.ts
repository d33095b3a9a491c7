import { Failure } from '../../base/failure.ts';
import { type ResolvedBuiltIn, withAbsolutePaths } from '../../protocol/builtInRewards.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import type { HeadStage, Recipe, RewardSpec, Stage } from '../../protocol/recipe.ts';
import { createTask } from '../dataset/createTask.ts';
import { defaultColumns } from '../dataset/datasetRows.ts';
import { resolveTaskSettings } from '../dataset/settings.ts';
import { resolveTemplate } from '../text/template.ts';
import { checkRecipe, completionLength } from './checkRecipe.ts';
import { recipeDefaults } from './recipeDefaults.ts';
import {
	type ResolvedDataset,
	type ResolvedHeadStage,
	type ResolvedModel,
	type ResolvedRecipe,
	type ResolvedReward,
	type ResolvedStage,
	resolvedRecipeSchema,
} from './resolvedRecipe.ts';
import { contextFor, type SequenceLengths, sequenceLengths } from './sequenceLengths.ts';

/** What resolution takes from the machine and the place of the recipe. */
export interface Machine {
	/** Processor cores that training may use. */
	readonly cores: number;
	/** Makes a path of the recipe absolute: relative ones start at the recipe's folder. */
	resolvePath(path: string): string;
}

/** The values of `given` that are set, over the defaults. */
function filled<D extends object, G extends object>(defaults: D, given: G | undefined): D & Required<G> {
	const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
	return { ...defaults, ...Object.fromEntries(set) } as D & Required<G>;
}

function resolveDataset(dataset: Recipe['dataset'], machine: Machine): ResolvedDataset {
	if ('task' in dataset) return resolveTaskSettings(dataset) as ResolvedDataset;
	return {
		...defaultColumns,
		heldOutShare: recipeDefaults.heldOutShare,
		...(Object.fromEntries(Object.entries(dataset).filter(([, value]) => value !== undefined)) as object),
		path: machine.resolvePath(dataset.path),
		heldOut: dataset.heldOut === undefined ? null : machine.resolvePath(dataset.heldOut),
	};
}

function resolveReward(reward: RewardSpec, machine: Machine): ResolvedReward {
	if ('use' in reward) {
		const named: ResolvedBuiltIn = { ...reward, name: reward.name ?? reward.use, weight: reward.weight ?? 1 };
		return withAbsolutePaths(named, (path) => machine.resolvePath(path));
	}
	return { file: machine.resolvePath(reward.file), name: reward.name ?? null, weight: reward.weight ?? null };
}

function resolveHead(stage: HeadStage, lengths: SequenceLengths | null, machine: Machine): ResolvedHeadStage {
	const { labels } = stage;
	const common = {
		until: null,
		max_completion_length: completionLength(stage, lengths),
		labels:
			labels === undefined
				? null
				: { ...filled(recipeDefaults.labels, labels), path: machine.resolvePath(labels.path) },
	};
	const defaults = { ...recipeDefaults.optimiser, ...recipeDefaults.head };
	if (stage.type === 'value-model') {
		return { ...filled({ ...defaults, ...recipeDefaults['value-model'] }, stage), ...common };
	}
	return { ...filled({ ...defaults, ...recipeDefaults['process-reward-model'] }, stage), ...common };
}

function resolveStage(stage: Stage, lengths: SequenceLengths | null, machine: Machine): ResolvedStage {
	if (stage.type === 'value-model' || stage.type === 'process-reward-model') {
		return resolveHead(stage, lengths, machine);
	}
	const until = stage.until === undefined ? null : filled(recipeDefaults.until, stage.until);
	if (stage.type === 'sft') {
		return { ...filled({ ...recipeDefaults.optimiser, ...recipeDefaults.sft }, stage), until };
	}
	const resolved = filled({ ...recipeDefaults.optimiser, ...recipeDefaults.grpo }, stage);
	return {
		...resolved,
		until,
		max_completion_length: completionLength(stage, lengths),
		epsilon_high: stage.epsilon_high ?? resolved.epsilon,
		control: stage.control ?? null,
	};
}

/**
 * Rows of the micro-batches: at most the default, and so few that the smallest batch of the run keeps every worker busy,
 * but not so few that handing over their gradients costs more than it gains.
 */
function microBatches(stages: readonly ResolvedStage[], workers: number): { sampleRows: number; trainRows: number } {
	const samples = (stage: ResolvedStage) =>
		stage.type === 'sft' || (stage.type !== 'grpo' && stage.labels !== null)
			? null
			: stage.prompts_per_step * stage.num_generations;
	const sampled = stages.map(samples).filter((rows) => rows !== null);
	const updated = stages.map((stage) => {
		const rows = samples(stage);
		if (rows !== null && stage.type !== 'sft') return rows / stage.steps_per_generation;
		return stage.type === 'grpo' ? 0 : stage.batch_size;
	});
	const share = (most: number, batches: readonly number[]) =>
		Math.min(most, ...batches.map((rows) => Math.max(recipeDefaults.fewestRows, Math.ceil(rows / workers))));
	return { sampleRows: share(recipeDefaults.sampleRows, sampled), trainRows: share(recipeDefaults.trainRows, updated) };
}

function resolveModel(
	recipe: Recipe,
	stages: readonly ResolvedStage[],
	lengths: SequenceLengths | null,
	machine: Machine,
): ResolvedModel {
	const { model } = recipe;
	if ('path' in model) return { path: machine.resolvePath(model.path) };
	const completions = stages.flatMap((stage) => (stage.type === 'sft' ? [] : [stage.max_completion_length]));
	const teaches = stages.some((stage) => stage.type === 'sft');
	return {
		layers: model.layers,
		width: model.width,
		heads: model.heads,
		feedForward: model.feedForward ?? 4 * model.width,
		context: model.context ?? (lengths === null ? null : contextFor(lengths, completions, teaches)),
	};
}

/**
 * The recipe with every default filled in, paths absolute, and the engine's sizes frozen, so that a resume on another
 * machine computes the same. Throws `invalid` with the first fault that {@link checkRecipe} finds.
 */
export function resolveRecipe(recipe: Recipe, machine: Machine): ResolvedRecipe {
	const faults = checkRecipe(recipe);
	const [fault] = faults;
	if (fault) {
		const others = faults.length > 1 ? ` (${faults.length - 1} more)` : '';
		throw new Failure('invalid', `The recipe is not valid: ${fault.message}${others}`);
	}
	const template = resolveTemplate(recipe.template);
	const lengths = 'task' in recipe.dataset ? sequenceLengths(createTask(recipe.dataset), template) : null;
	const stages = recipe.stages.map((stage) => resolveStage(stage, lengths, machine));
	const workers = recipe.workers ?? Math.min(256, Math.max(1, Math.floor(machine.cores)));
	return {
		format: 1,
		name: recipe.name,
		engine: recipe.engine,
		device: recipe.device,
		whenBusy: recipe.whenBusy ?? 'queue',
		seed: recipe.seed,
		workers,
		...microBatches(stages, workers),
		dataset: resolveDataset(recipe.dataset, machine),
		model: resolveModel(recipe, stages, lengths, machine),
		template: {
			...template,
			think: template.think && [...template.think],
			answer: template.answer && [...template.answer],
		},
		rewards: recipe.rewards.map((reward) => resolveReward(reward, machine)),
		scoring: filled(recipeDefaults.scoring, recipe.scoring),
		stages,
		evaluate: filled(recipeDefaults.evaluate, recipe.evaluate),
		checkpoint: filled(recipeDefaults.checkpoint, recipe.checkpoint),
		log: filled(recipeDefaults.log, recipe.log),
	};
}

/** Reads a run's recipe.json back; throws `invalid` naming the place. */
export function decodeResolvedRecipe(value: unknown, what = 'recipe.json'): ResolvedRecipe {
	return decodeOrThrow(resolvedRecipeSchema, value, what);
}
