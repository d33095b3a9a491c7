import * as v from 'valibot';
import { resolvedBuiltInSchema } from '../../protocol/builtInRewards.ts';
import { defaultsOf } from '../../protocol/keyDefaults.ts';
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
} from '../../protocol/recipe.ts';
import type { Keys } from '../../protocol/recipeKey.ts';
import { type ResolvedValue, resolvedSchema } from '../../protocol/resolvedKeys.ts';
import { trainingEngines } from '../../protocol/runRecord.ts';
import { scoringSchema } from '../../protocol/scoringSettings.ts';
import { learnsFromRewards } from '../../protocol/stageKinds.ts';
import { pytorchSchema, raySchema } from '../../protocol/torchRecipe.ts';

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));

/** What a stage is once it is resolved. */
export type ResolvedStage = ResolvedValue<StageSchema>;
type ResolvedOf<T extends ResolvedStage['type']> = Extract<ResolvedStage, { readonly type: T }>;
const stages = v.variant(
	'type',
	stageSchema.options.map(({ keys }) => resolvedSchema(keys as Keys)) as never,
) as unknown as v.GenericSchema<unknown, ResolvedStage>;

/** recipe.json of a run: every default filled in, every path absolute, every size frozen. */
export const resolvedRecipeSchema = v.strictObject({
	format: v.literal(1),
	name: v.string(),
	engine: v.picklist(trainingEngines),
	device: v.picklist(deviceNames),
	whenBusy: v.picklist(busyChoices),
	seed: whole,
	/** Threads that share a batch; frozen at the start so that a resume elsewhere computes the same. */
	workers: positive,
	/** Rows per sampling micro-batch. */
	sampleRows: positive,
	/** Rows per gradient micro-batch. */
	trainRows: positive,
	/** Of a file: its path is absolute, as are all paths here, or (pytorch) a hub id as it was written. */
	dataset: v.union([taskDatasetSchema, resolvedSchema(fileDatasetSchema.keys)]),
	/** `context` null: what the rows of the file and max_completion_length need (see `contextFor`). */
	model: v.union([resolvedSchema(newModelSchema.keys), resolvedSchema(givenModelSchema.keys)]),
	/** Of the pytorch and ray engines; absent in recipes of the embedded one. */
	pytorch: v.optional(resolvedSchema(pytorchSchema.keys)),
	/** Of the ray engine. */
	ray: v.optional(resolvedSchema(raySchema.keys)),
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
export type { ResolvedPytorch, ResolvedRay } from '../../protocol/torchRecipe.ts';
