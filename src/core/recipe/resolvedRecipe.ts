import * as v from 'valibot';
import { languageNames, resolvedBuiltInSchema } from '../../protocol/builtInRewards.ts';
import {
	deviceNames,
	estimationNames,
	lossTypes,
	operationNames,
	presetNames,
	schedulerNames,
	solutionLanguages,
	solutionStyles,
	taskNames,
} from '../../protocol/recipe.ts';
import { trainingEngines } from '../../protocol/runRecord.ts';
import { learnsFromRewards } from '../../protocol/stageKinds.ts';
import { attentionNames, precisionNames, rewardPlaces, strategyNames } from '../../protocol/torchRecipe.ts';
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
	/** TRL's own options by their own names; only the pytorch and ray engines read them. */
	trainer: v.optional(v.record(v.string(), v.unknown())),
};

const resolvedPretrain = v.strictObject({
	type: v.literal('pretrain'),
	...optimiser,
	/** null: the texts of the dataset itself. */
	corpus: v.nullable(v.strictObject({ path: v.string(), text: v.string(), heldOutShare: v.number() })),
	workedShare: v.number(),
	batch_size: positive,
});

/** A path that is a file or folder is absolute; anything else is a hub id as it was written. */
const completions = v.strictObject({
	path: v.string(),
	split: v.string(),
	prompt: v.string(),
	completion: v.string(),
	answer: v.string(),
	/** Of the embedded engine. */
	solution: v.optional(v.string()),
});

const resolvedSft = v.strictObject({
	type: v.literal('sft'),
	...optimiser,
	/** null: worked solutions of the dataset. */
	data: v.optional(v.nullable(completions), null),
	batch_size: positive,
});

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

const resolvedRloo = v.strictObject({
	type: v.literal('rloo'),
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
	mask_truncated_completions: v.boolean(),
});

const resolvedPpo = v.strictObject({
	type: v.literal('ppo'),
	...optimiser,
	num_generations: positive,
	prompts_per_step: positive,
	num_mini_batches: positive,
	num_ppo_epochs: positive,
	max_completion_length: positive,
	temperature: v.number(),
	kl_coef: v.number(),
	cliprange: v.number(),
	vf_coef: v.number(),
	cliprange_value: v.number(),
	gamma: v.number(),
	lam: v.number(),
	whiten_advantages: v.boolean(),
	/** null: that of the policy. */
	critic_learning_rate: v.nullable(v.number()),
	critic_warmup_steps: whole,
});

/** A path that is a file or folder is absolute; anything else is a hub id as it was written. */
const pairs = v.strictObject({
	path: v.string(),
	split: v.string(),
	prompt: v.string(),
	chosen: v.string(),
	rejected: v.string(),
	heldOutShare: v.number(),
});

const resolvedDpo = v.strictObject({
	type: v.literal('dpo'),
	...optimiser,
	until: v.null(),
	pairs,
	batch_size: positive,
	beta: v.number(),
});

const resolvedRewardModel = v.strictObject({
	type: v.literal('reward-model'),
	...optimiser,
	until: v.null(),
	pairs,
	batch_size: positive,
});

const resolvedDistill = v.strictObject({
	type: v.literal('distill'),
	...optimiser,
	/** null: the teacher or the student writes them. */
	data: v.nullable(completions),
	minReward: v.nullable(v.number()),
	/** null: completions alone are imitated. */
	teacher: v.optional(v.nullable(v.strictObject({ path: v.string() })), null),
	temperature: v.optional(v.number(), recipeDefaults.distill.temperature),
	alpha: v.optional(v.number(), recipeDefaults.distill.alpha),
	on_policy: v.optional(v.boolean(), recipeDefaults.distill.on_policy),
	sampling_temperature: v.optional(v.number(), recipeDefaults.distill.sampling_temperature),
	/** Absent: nothing is sampled. */
	max_completion_length: v.optional(positive),
	batch_size: positive,
});

const resolvedRejection = v.strictObject({
	type: v.literal('rejection-sampling'),
	/** Generation batches. */
	steps: positive,
	until: v.null(),
	problems: positive,
	num_generations: positive,
	prompts_per_step: positive,
	max_completion_length: positive,
	temperature: v.number(),
	keep: v.strictObject({
		correct: v.boolean(),
		minReward: v.nullable(v.number()),
		language: v.nullable(v.strictObject({ language: v.picklist(languageNames), minShare: v.number() })),
		minTokens: v.nullable(positive),
		maxTokens: v.nullable(positive),
		/** null: all. */
		perProblem: v.nullable(positive),
		duplicates: v.picklist(['drop', 'keep']),
	}),
	/** `share` null: all rows. */
	extra: v.array(v.strictObject({ ...completions.entries, share: v.nullable(v.number()) })),
});

const resolvedPytorch = v.strictObject({
	processes: positive,
	strategy: v.picklist(strategyNames),
	/** null: bfloat16 on a GPU that has it, else float32. */
	precision: v.nullable(v.picklist(precisionNames)),
	attention: v.picklist(attentionNames),
	gradientCheckpointing: v.boolean(),
	/** Rows of one forward and backward in a process; null: all of an update. */
	microBatch: v.nullable(positive),
	packing: v.boolean(),
	maxLength: positive,
	lora: v.nullable(
		v.strictObject({
			r: positive,
			alpha: v.number(),
			dropout: v.number(),
			targets: v.union([v.literal('all-linear'), v.array(v.string())]),
			quantize: v.picklist(['none', '4bit', '8bit']),
		}),
	),
	vllm: v.nullable(
		v.strictObject({
			mode: v.picklist(['colocate', 'server']),
			server: v.nullable(v.string()),
			memory: v.number(),
			tensorParallel: positive,
		}),
	),
	rewards: v.picklist(rewardPlaces),
});

const resolvedRay = v.strictObject({
	/** null: RAY_ADDRESS of the environment. */
	address: v.nullable(v.string()),
	workers: positive,
	cpusPerWorker: v.number(),
	/** null: one where the device is cuda, else none. */
	gpusPerWorker: v.nullable(v.number()),
	/** null: a folder of this machine, which a cluster on this machine sees. */
	storage: v.nullable(v.string()),
	restarts: whole,
	pip: v.array(v.string()),
	environment: v.record(v.string(), v.string()),
	payload: v.picklist(['trl', 'verl']),
	verl: v.record(v.string(), v.unknown()),
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
	general: v.optional(v.number()),
	language: v.optional(v.picklist(solutionLanguages)),
	style: v.optional(v.picklist(solutionStyles)),
});

const resolvedFile = v.strictObject({
	/** Absolute, as are all paths here; pytorch: or a hub id as it was written. */
	path: v.string(),
	prompt: v.string(),
	answer: v.string(),
	solution: v.string(),
	/** An absolute path; of a hub dataset also the name of one of its splits. */
	heldOut: v.nullable(v.string()),
	heldOutShare: v.number(),
	/** Prompts whose rows are left out; absent: none. */
	exclude: v.optional(v.array(v.string())),
	/** pytorch: of a hub dataset, and the preset that named columns and hub id. */
	config: v.optional(v.string()),
	split: v.optional(v.string()),
	preset: v.optional(v.picklist(presetNames)),
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
		v.strictObject({
			path: v.string(),
			revision: v.optional(v.string()),
			/** Absolute: a Jinja file in place of the chat template of the model. */
			template: v.optional(v.string()),
		}),
	]),
	/** Of the pytorch and ray engines; absent in recipes of the embedded one. */
	pytorch: v.optional(resolvedPytorch),
	/** Of the ray engine. */
	ray: v.optional(resolvedRay),
	template: v.strictObject({
		name: v.string(),
		prompt: v.string(),
		think: v.nullable(v.tuple([v.string(), v.string()])),
		answer: v.nullable(v.tuple([v.string(), v.string()])),
		/** pytorch: the prompt is a user message, put by the chat template of the model. */
		chat: v.optional(v.boolean()),
		system: v.optional(v.string()),
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
	stages: v.array(
		v.variant('type', [
			resolvedPretrain,
			resolvedSft,
			resolvedGrpo,
			resolvedPpo,
			resolvedValueModel,
			resolvedProcess,
			resolvedRloo,
			resolvedDpo,
			resolvedRewardModel,
			resolvedDistill,
			resolvedRejection,
		]),
	),
	evaluate: v.strictObject({ every: positive, problems: positive, samples: positive, temperature: v.number() }),
	checkpoint: v.strictObject({ every: positive, keep: positive }),
	log: v.strictObject({ rolloutsEvery: positive, tokens: v.boolean() }),
});

export type ResolvedRecipe = v.InferOutput<typeof resolvedRecipeSchema>;
export type ResolvedStage = ResolvedRecipe['stages'][number];
export type ResolvedPretrainStage = v.InferOutput<typeof resolvedPretrain>;
export type ResolvedSftStage = v.InferOutput<typeof resolvedSft>;
export type ResolvedGrpoStage = v.InferOutput<typeof resolvedGrpo>;
export type ResolvedValueModelStage = v.InferOutput<typeof resolvedValueModel>;
export type ResolvedProcessStage = v.InferOutput<typeof resolvedProcess>;
export type ResolvedPpoStage = v.InferOutput<typeof resolvedPpo>;
export type ResolvedRlooStage = v.InferOutput<typeof resolvedRloo>;
export type ResolvedDpoStage = v.InferOutput<typeof resolvedDpo>;
export type ResolvedRewardModelStage = v.InferOutput<typeof resolvedRewardModel>;
export type ResolvedDistillStage = v.InferOutput<typeof resolvedDistill>;
export type ResolvedRejectionStage = v.InferOutput<typeof resolvedRejection>;
/** Stages that update weights. */
export type ResolvedUpdatingStage = Exclude<ResolvedStage, ResolvedRejectionStage>;
export type ResolvedPytorch = v.InferOutput<typeof resolvedPytorch>;
export type ResolvedRay = v.InferOutput<typeof resolvedRay>;
/** Stages in which the policy learns from rewards of its own completions. */
export type ReinforcedStage = ResolvedGrpoStage | ResolvedPpoStage | ResolvedRlooStage;

export function isReinforced(stage: ResolvedStage): stage is ReinforcedStage {
	return learnsFromRewards(stage.type);
}
export type ResolvedHeadStage = ResolvedValueModelStage | ResolvedProcessStage;
export type ResolvedDataset = ResolvedRecipe['dataset'];
export type ResolvedModel = ResolvedRecipe['model'];
export type ResolvedScoring = ResolvedRecipe['scoring'];
export type RewardFile = NonNullable<ResolvedRecipe['rewardFiles']>[number];
export type ResolvedReward = ResolvedRecipe['rewards'][number];
