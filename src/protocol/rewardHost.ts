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
} as const;

const tagPair = v.nullable(v.tuple([v.string(), v.string()]));

/** What a host judges by, besides the rows: the tags of the template, and how answers are compared. */
export const rewardContextSchema = v.object({
	tags: v.object({ think: tagPair, answer: tagPair }),
	/** The recipe's task, whose own rule then decides what is right; null: mathematical equivalence. */
	task: v.nullable(v.record(v.string(), v.unknown())),
	/** Folder that relative paths of built-in rewards (a model file) start from. */
	folder: v.string(),
});
export type RewardContext = v.InferOutput<typeof rewardContextSchema>;

export const loadRequestSchema = v.object({
	/** A reward file, absolute; null: the built-in rewards of `builtIns`. */
	file: v.nullable(v.string()),
	/** Entries of a recipe's `rewards` that name a built-in reward, with a unique name each. */
	builtIns: v.array(v.looseObject({ use: v.string(), name: v.string() })),
	context: rewardContextSchema,
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

export const scoreRequestSchema = v.object({
	reward: v.string(),
	rows: v.array(v.looseObject({})),
	/** Of the whole batch. */
	timeoutMs: v.number(),
	/** Which lines of the reward file the rows reach is wanted too. */
	coverage: v.boolean(),
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
			stack: v.optional(v.string()),
			line: v.optional(v.number()),
		}),
	),
	logs: v.array(v.string()),
	durationMs: v.number(),
	coverage: v.optional(lineCoverageSchema),
});
export type ScoreReply = v.InferOutput<typeof scoreReplySchema>;
