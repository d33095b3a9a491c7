import * as v from 'valibot';
import { resolvedBuiltInSchema } from '../../protocol/recipeKeys/builtInRewards.ts';
import { environmentSchema } from '../../protocol/recipeKeys/environmentRecipe.ts';
import { defaultsOf } from '../../protocol/recipeKeys/keyDefaults.ts';
import {
	busyChoices,
	checkpointSchema,
	deviceNames,
	evaluationSchema,
	fileDatasetSchema,
	givenModelSchema,
	logSchema,
	newModelSchema,
	type StageSchema,
	stageSchema,
	taskDatasetSchema,
} from '../../protocol/recipeKeys/recipe.ts';
import type { Keys } from '../../protocol/recipeKeys/recipeKey.ts';
import { type ResolvedValue, resolvedSchema } from '../../protocol/recipeKeys/resolvedKeys.ts';
import { scoringSchema } from '../../protocol/recipeKeys/scoringSettings.ts';
import { learnsFromRewards } from '../../protocol/recipeKeys/stageKinds.ts';
import { precisionNames, pytorchSchema, raySchema } from '../../protocol/recipeKeys/torchRecipe.ts';
import { trainingEngines } from '../../protocol/runRecord.ts';

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));

/** A resolved stage. */
export type ResolvedStage = ResolvedValue<StageSchema>;
type ResolvedOf<T extends ResolvedStage['type']> = Extract<ResolvedStage, { readonly type: T }>;
const stages = v.variant(
	'type',
	stageSchema.options.map(({ keys }) => resolvedSchema(keys as Keys)) as never,
) as unknown as v.GenericSchema<unknown, ResolvedStage>;

/** Schema of a run's recipe.json, with all defaults filled in, all paths absolute, and all sizes frozen. */
export const resolvedRecipeSchema = v.strictObject({
	format: v.literal(1),
	name: v.string(),
	engine: v.picklist(trainingEngines),
	device: v.picklist(deviceNames),
	/** Embedded engine: the precision of products. The pytorch engine's is in `pytorch`. */
	precision: v.optional(v.picklist(precisionNames)),
	whenBusy: v.picklist(busyChoices),
	seed: whole,
	/** Number of threads that share a batch. Frozen at the start, so that resuming elsewhere computes the same result. */
	workers: positive,
	/** Number of rows per sampling micro-batch. */
	sampleRows: positive,
	/** Number of rows per gradient micro-batch. */
	trainRows: positive,
	/**
	 * The path of a file dataset is absolute, like all paths in a resolved recipe, or, for the pytorch engine, a Hub id
	 * as written.
	 */
	dataset: v.union([taskDatasetSchema, resolvedSchema(fileDatasetSchema.keys)]),
	/** If `context` is null, it is derived from the file's rows and max_completion_length (see `contextFor`). */
	model: v.union([resolvedSchema(newModelSchema.keys), resolvedSchema(givenModelSchema.keys)]),
	/** Settings for the pytorch and ray engines. Absent for the embedded engine. */
	pytorch: v.optional(resolvedSchema(pytorchSchema.keys)),
	/** Settings for the ray engine. */
	ray: v.optional(resolvedSchema(raySchema.keys)),
	template: v.strictObject({
		name: v.string(),
		prompt: v.string(),
		think: v.nullable(v.tuple([v.string(), v.string()])),
		answer: v.nullable(v.tuple([v.string(), v.string()])),
		/** Tags for tool calls and answers. Present in embedded-engine recipes with an environment. */
		call: v.optional(v.tuple([v.string(), v.string()])),
		result: v.optional(v.tuple([v.string(), v.string()])),
		/** Tokens for latent thoughts. Present in recipes that use them. */
		latent: v.optional(v.pipe(v.array(v.string()), v.readonly())),
		/** pytorch: whether the prompt is a user message, formatted with the model's chat template. */
		chat: v.optional(v.boolean()),
		system: v.optional(v.string()),
	}),
	rewards: v.array(
		v.union([
			resolvedBuiltInSchema,
			v.strictObject({
				/**
				 * Absolute path or, in a run folder, the path to the run's own copy, relative to the folder and with `/` as the
				 * separator.
				 */
				file: v.string(),
				/** Reward name, or null for every reward in the file. */
				name: v.nullable(v.string()),
				/** Weight, or null for the weight that the reward itself specifies (1 by default). */
				weight: v.nullable(v.number()),
			}),
		]),
	),
	/** `file` is a path, as for reward files. */
	environment: v.optional(resolvedSchema(environmentSchema.keys)),
	/** The run's copies of reward files and their imports, sorted by path. Absent if there are none. */
	rewardFiles: v.optional(
		v.array(v.strictObject({ path: v.string(), bytes: whole, sha256: v.pipe(v.string(), v.length(64)) })),
	),
	stages: v.array(stages),
	scoring: v.optional(resolvedSchema(scoringSchema.keys), defaultsOf(scoringSchema)),
	evaluate: resolvedSchema(evaluationSchema.keys),
	checkpoint: resolvedSchema(checkpointSchema.keys),
	log: resolvedSchema(logSchema.keys),
});

export type ResolvedRecipe = v.InferOutput<typeof resolvedRecipeSchema>;
export type ResolvedPretrainStage = ResolvedOf<'pretrain'>;
export type ResolvedSftStage = ResolvedOf<'sft'>;
export type ResolvedGrpoStage = ResolvedOf<'grpo'>;
export type ResolvedValueModelStage = ResolvedOf<'value-model'>;
export type ResolvedProcessStage = ResolvedOf<'process-reward-model'>;
export type ResolvedPpoStage = ResolvedOf<'ppo'>;
export type ResolvedRlooStage = ResolvedOf<'rloo'>;
export type ResolvedDpoStage = ResolvedOf<'dpo'>;
export type ResolvedRewardModelStage = ResolvedOf<'reward-model'>;
export type ResolvedDistillStage = ResolvedOf<'distill'>;
export type ResolvedRejectionStage = ResolvedOf<'rejection-sampling'>;
/** Stages that update weights. */
export type ResolvedUpdatingStage = Exclude<ResolvedStage, ResolvedRejectionStage>;
/** Stages in which the policy learns from rewards for its own completions. */
export type ReinforcedStage = ResolvedGrpoStage | ResolvedPpoStage | ResolvedRlooStage;

export function isReinforced(stage: ResolvedStage): stage is ReinforcedStage {
	return learnsFromRewards(stage.type);
}
export type ResolvedHeadStage = ResolvedValueModelStage | ResolvedProcessStage;
export type ResolvedDataset = ResolvedRecipe['dataset'];
export type ResolvedModel = ResolvedRecipe['model'];
export type RewardFile = NonNullable<ResolvedRecipe['rewardFiles']>[number];
export type ResolvedReward = ResolvedRecipe['rewards'][number];
export type { ResolvedPytorch, ResolvedRay } from '../../protocol/recipeKeys/torchRecipe.ts';
