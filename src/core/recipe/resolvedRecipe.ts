import * as v from 'valibot';
import { resolvedBuiltInSchema } from '../../protocol/builtInRewards.ts';
import {
	deviceNames,
	estimationNames,
	lossTypes,
	operationNames,
	schedulerNames,
	taskNames,
} from '../../protocol/recipe.ts';
import { trainingEngines } from '../../protocol/runRecord.ts';
import { recipeDefaults } from './recipeDefaults.ts';

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));

const until = v.nullable(v.strictObject({ heldOutAccuracy: v.number(), every: positive, problems: positive }));

const optimiser = {
	steps: positive,
	until,
	learning_rate: v.number(),
	lr_scheduler_type: v.picklist(schedulerNames),
	warmup_steps: whole,
	/** 0: no clipping. */
	max_grad_norm: v.number(),
	weight_decay: v.number(),
	adam_beta1: v.number(),
	adam_beta2: v.number(),
	adam_epsilon: v.number(),
};

const resolvedSft = v.strictObject({ type: v.literal('sft'), ...optimiser, batch_size: positive });

const resolvedGrpo = v.strictObject({
	type: v.literal('grpo'),
	...optimiser,
	num_generations: positive,
	prompts_per_step: positive,
	steps_per_generation: positive,
	num_iterations: positive,
	max_completion_length: positive,
	temperature: v.number(),
	beta: v.number(),
	epsilon: v.number(),
	epsilon_high: v.number(),
	loss_type: v.picklist(lossTypes),
	scale_rewards: v.picklist(['group', 'batch', 'none']),
	mask_truncated_completions: v.boolean(),
	dynamic_sampling: v.boolean(),
	max_resamples: positive,
	skip_dead_groups: v.boolean(),
	control: v.nullable(v.literal('shuffle')),
});

const head = {
	...optimiser,
	/** It ends by its steps alone. */
	until: v.null(),
	/** null: completions of the policy. */
	labels: v.nullable(v.strictObject({ path: v.string(), separator: v.string(), heldOutShare: v.number() })),
	batch_size: positive,
	prompts_per_step: positive,
	num_generations: positive,
	steps_per_generation: positive,
	num_iterations: positive,
	max_completion_length: positive,
	temperature: v.number(),
};

const resolvedValueModel = v.strictObject({ type: v.literal('value-model'), ...head });

const resolvedProcess = v.strictObject({
	type: v.literal('process-reward-model'),
	...head,
	completions: positive,
	estimation: v.picklist(estimationNames),
	split: v.union([v.string(), v.strictObject({ text: v.string() })]),
});

const resolvedTask = v.strictObject({
	task: v.picklist(taskNames),
	digits: v.optional(positive),
	subtraction: v.optional(v.boolean()),
	terms: v.optional(positive),
	largest: v.optional(positive),
	base: v.optional(positive),
	length: v.optional(positive),
	operation: v.optional(v.picklist(operationNames)),
	modulus: v.optional(positive),
});

const resolvedFile = v.strictObject({
	/** Absolute, as are all paths here. */
	path: v.string(),
	prompt: v.string(),
	answer: v.string(),
	solution: v.string(),
	heldOut: v.nullable(v.string()),
	heldOutShare: v.number(),
});

/** recipe.json of a run: every default filled in, every path absolute, every size frozen. */
export const resolvedRecipeSchema = v.strictObject({
	format: v.literal(1),
	name: v.string(),
	engine: v.picklist(trainingEngines),
	device: v.picklist(deviceNames),
	whenBusy: v.picklist(['queue', 'share']),
	seed: whole,
	/** Threads that share a batch; frozen at the start so that a resume elsewhere computes the same. */
	workers: positive,
	/** Rows per sampling micro-batch. */
	sampleRows: positive,
	/** Rows per gradient micro-batch. */
	trainRows: positive,
	dataset: v.union([resolvedTask, resolvedFile]),
	model: v.union([
		v.strictObject({
			layers: positive,
			width: positive,
			heads: positive,
			feedForward: positive,
			/** null: what the rows of the file and max_completion_length need (see `contextFor`). */
			context: v.nullable(positive),
		}),
		v.strictObject({ path: v.string() }),
	]),
	template: v.strictObject({
		name: v.string(),
		prompt: v.string(),
		think: v.nullable(v.tuple([v.string(), v.string()])),
		answer: v.nullable(v.tuple([v.string(), v.string()])),
	}),
	rewards: v.array(
		v.union([
			resolvedBuiltInSchema,
			v.strictObject({
				/** Absolute, or, in a run folder, the run's own copy: relative to the folder, with "/". */
				file: v.string(),
				/** null: every reward of the file. */
				name: v.nullable(v.string()),
				/** null: what the reward itself proposes, else 1. */
				weight: v.nullable(v.number()),
			}),
		]),
	),
	/** The run's copies of reward files and of what they import, sorted by path; absent when there are none. */
	rewardFiles: v.optional(
		v.array(v.strictObject({ path: v.string(), bytes: whole, sha256: v.pipe(v.string(), v.length(64)) })),
	),
	scoring: v.optional(
		v.strictObject({
			pauseAbove: v.number(),
			batchSeconds: v.number(),
			rowSeconds: v.number(),
			loadSeconds: v.number(),
			memoryMb: positive,
		}),
		recipeDefaults.scoring,
	),
	stages: v.array(v.variant('type', [resolvedSft, resolvedGrpo, resolvedValueModel, resolvedProcess])),
	evaluate: v.strictObject({ every: positive, problems: positive, samples: positive, temperature: v.number() }),
	checkpoint: v.strictObject({ every: positive, keep: positive }),
	log: v.strictObject({ rolloutsEvery: positive, tokens: v.boolean() }),
});

export type ResolvedRecipe = v.InferOutput<typeof resolvedRecipeSchema>;
export type ResolvedStage = ResolvedRecipe['stages'][number];
export type ResolvedSftStage = v.InferOutput<typeof resolvedSft>;
export type ResolvedGrpoStage = v.InferOutput<typeof resolvedGrpo>;
export type ResolvedValueModelStage = v.InferOutput<typeof resolvedValueModel>;
export type ResolvedProcessStage = v.InferOutput<typeof resolvedProcess>;
export type ResolvedHeadStage = ResolvedValueModelStage | ResolvedProcessStage;
export type ResolvedDataset = ResolvedRecipe['dataset'];
export type ResolvedModel = ResolvedRecipe['model'];
export type ResolvedScoring = ResolvedRecipe['scoring'];
export type RewardFile = NonNullable<ResolvedRecipe['rewardFiles']>[number];
export type ResolvedReward = ResolvedRecipe['rewards'][number];
