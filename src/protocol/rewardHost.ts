import * as v from 'valibot';
import { scoreErrorKinds } from './scorer.ts';

/**
 * What a reward host process is asked over its own pair of file descriptors (JSON-RPC 2.0, Content-Length framing). The
 * process is started empty, so that a spare one can stand by; `load` gives it its rewards, once.
 */
export const rewardHostMethods = {
	/** The first and only load of this process. */
	load: 'load',
	score: 'score',
	/** Where user code is at this moment; answered also while it runs, if the host can. */
	where: 'where',
} as const;

const tagPair = v.nullable(v.tuple([v.string(), v.string()]));

/** What a host judges by, besides the rows: the tags of the template, and how answers are compared. */
export const rewardContextSchema = v.object({
	tags: v.object({ think: tagPair, answer: tagPair }),
	/** The recipe's task, whose own rule then decides what is right; null: mathematical equivalence. */
	task: v.nullable(v.record(v.string(), v.unknown())),
	/** Folder that relative paths of built-in rewards (a model file) start from. */
	folder: v.string(),
	/** Text around a problem, as the policy sees it, with {prompt} where it goes; absent: the problem as it stands. */
	prompt: v.optional(v.string()),
});
export type RewardContext = v.InferOutput<typeof rewardContextSchema>;

export const loadRequestSchema = v.object({
	/** A reward file, absolute; null: the built-in rewards of `builtIns`. */
	file: v.nullable(v.string()),
	/** Entries of a recipe's `rewards` that name a built-in reward, with a unique name each. */
	builtIns: v.array(v.looseObject({ use: v.string(), name: v.string() })),
	context: rewardContextSchema,
	/** Line coverage will be asked for: the file is loaded so that it can be measured. */
	coverage: v.optional(v.boolean()),
	/** Memory that the process may ask for, in MB, where it can limit itself. */
	memoryMb: v.optional(v.number()),
	/** Environment that only this load gets (API keys of the built-in rewards). */
	environment: v.optional(v.record(v.string(), v.string())),
});
export type LoadRequest = v.InferOutput<typeof loadRequestSchema>;

export const rewardDescriptionSchema = v.object({
	name: v.string(),
	/** What the file itself proposes (`reward.weight`); a recipe's weight wins. */
	weight: v.optional(v.number()),
	/** Names of the parameters of a Python reward; those that are dataset columns are checked before any work. */
	parameters: v.array(v.string()),
	/** Parameters without a default: columns that the data must have. */
	required: v.array(v.string()),
	batchOnly: v.boolean(),
	/** Of the signature: first and last line of the declaration, from 1; null for a built-in reward. */
	location: v.nullable(v.object({ line: v.number(), endLine: v.number() })),
});
export type RewardDescription = v.InferOutput<typeof rewardDescriptionSchema>;

export const loadResultSchema = v.object({
	rewards: v.array(rewardDescriptionSchema),
	/** Every local file that was loaded (absolute, the reward file first): a change of one makes the host stale. */
	files: v.array(v.string()),
	logs: v.array(v.string()),
	durationMs: v.number(),
});
export type LoadResult = v.InferOutput<typeof loadResultSchema>;

/** Why a load failed: data of the JSON-RPC error that answers it. */
export const loadFailureSchema = v.object({
	reason: v.picklist(['invalid', 'missing', 'unsupported', 'unavailable', 'denied', 'timeout', 'internal']),
	/** What was raised, in its own words. */
	message: v.string(),
	action: v.optional(v.string()),
	/** The local file and its line, from 1, that is to blame; absent when it is not known. */
	file: v.optional(v.string()),
	line: v.optional(v.number()),
	stack: v.optional(v.string()),
});
export type LoadFailureData = v.InferOutput<typeof loadFailureSchema>;

export const whereReplySchema = v.object({ line: v.exactOptional(v.number()), stack: v.exactOptional(v.string()) });
export type WhereReply = v.InferOutput<typeof whereReplySchema>;

export const scoreRequestSchema = v.object({
	reward: v.string(),
	/** null: those of the request before, of a process that has built-in rewards. */
	rows: v.nullable(v.array(v.looseObject({}))),
	/** Of the whole batch. */
	timeoutMs: v.number(),
	/** Which lines of the reward file the rows reach is wanted too. */
	coverage: v.boolean(),
	/** Optimizer step that the batch belongs to: `trainer_state.global_step` of a Python reward. */
	step: v.exactOptional(v.number()),
});
export type ScoreRequest = v.InferOutput<typeof scoreRequestSchema>;

export const lineCoverageSchema = v.object({
	/** Lines of the reward file that could run, from 1, and of those the ones that did. */
	lines: v.array(v.number()),
	reached: v.array(v.number()),
});
export type LineCoverage = v.InferOutput<typeof lineCoverageSchema>;

export const scoreReplySchema = v.object({
	values: v.array(v.nullable(v.number())),
	errors: v.array(
		v.object({
			index: v.number(),
			kind: v.picklist(scoreErrorKinds),
			message: v.string(),
			stack: v.exactOptional(v.string()),
			line: v.exactOptional(v.number()),
		}),
	),
	logs: v.array(v.string()),
	durationMs: v.number(),
	coverage: v.exactOptional(lineCoverageSchema),
	/** What a Python reward gave to `log_metric`, by name. */
	metrics: v.exactOptional(v.record(v.string(), v.number())),
});
export type ScoreReply = v.InferOutput<typeof scoreReplySchema>;
