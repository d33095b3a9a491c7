import * as v from 'valibot';
import { scoreErrorKinds } from './scorer.ts';

/**
 * Requests to a reward host process over a dedicated pair of file descriptors (JSON-RPC 2.0, Content-Length framing).
 * The process starts empty so that a spare can be kept ready; `load` loads the rewards and can be called only once.
 */
export const rewardHostMethods = {
	/** Loads the rewards. Can be called only once per process. */
	load: 'load',
	score: 'score',
	/** Reports which user code is currently running; answered even while it runs, if the host supports it. */
	where: 'where',
} as const;

const tagPair = v.nullable(v.tuple([v.string(), v.string()]));

/** Information that a host needs for scoring in addition to the rows: the template tags and the answer comparison. */
export const rewardContextSchema = v.object({
	tags: v.object({ think: tagPair, answer: tagPair }),
	/** The recipe's task, whose own rule determines correctness; null to compare answers by mathematical equivalence. */
	task: v.nullable(v.record(v.string(), v.unknown())),
	/** Base folder for relative paths in built-in rewards, such as a model path. */
	folder: v.string(),
	/**
	 * Prompt as the policy sees it, with {prompt} as the placeholder for the problem. Absent if the prompt is just the
	 * problem.
	 */
	prompt: v.optional(v.string()),
});
export type RewardContext = v.InferOutput<typeof rewardContextSchema>;

export const loadRequestSchema = v.object({
	/** Absolute path of a reward file; null for the built-in rewards in `builtIns`. */
	file: v.nullable(v.string()),
	/** Entries in a recipe's `rewards` that use a built-in reward, each with a unique name. */
	builtIns: v.array(v.looseObject({ use: v.string(), name: v.string() })),
	context: rewardContextSchema,
	/** Whether line coverage will be requested later; if so, the file is loaded with instrumentation. */
	coverage: v.optional(v.boolean()),
	/** Memory limit of the process in MB, on systems where the process can enforce a limit on itself. */
	memoryMb: v.optional(v.number()),
	/** Environment variables for this load only (API keys for built-in rewards). */
	environment: v.optional(v.record(v.string(), v.string())),
});
export type LoadRequest = v.InferOutput<typeof loadRequestSchema>;

export const rewardDescriptionSchema = v.object({
	name: v.string(),
	/** Weight that the file itself suggests (`reward.weight`); a weight in the recipe overrides it. */
	weight: v.optional(v.number()),
	/** Parameter names of a Python reward; those that are dataset columns are validated before scoring starts. */
	parameters: v.array(v.string()),
	/** Parameters without a default, for which the data must have columns. */
	required: v.array(v.string()),
	batchOnly: v.boolean(),
	/** First and last line of the declaration, 1-based; null for a built-in reward. */
	location: v.nullable(v.object({ line: v.number(), endLine: v.number() })),
});
export type RewardDescription = v.InferOutput<typeof rewardDescriptionSchema>;

export const loadResultSchema = v.object({
	rewards: v.array(rewardDescriptionSchema),
	/**
	 * All local files that were loaded (absolute, the reward file first); a change to any of them makes the host stale.
	 */
	files: v.array(v.string()),
	logs: v.array(v.string()),
	durationMs: v.number(),
});
export type LoadResult = v.InferOutput<typeof loadResultSchema>;

/** Why a load failed: `data` in the JSON-RPC error response. */
export const loadFailureSchema = v.object({
	reason: v.picklist(['invalid', 'missing', 'unsupported', 'unavailable', 'denied', 'timeout', 'internal']),
	/** Error message as raised by the code. */
	message: v.string(),
	action: v.optional(v.string()),
	/** Local file that caused the error, with its 1-based line number; absent if unknown. */
	file: v.optional(v.string()),
	line: v.optional(v.number()),
	stack: v.optional(v.string()),
});
export type LoadFailureData = v.InferOutput<typeof loadFailureSchema>;

export const whereReplySchema = v.object({ line: v.exactOptional(v.number()), stack: v.exactOptional(v.string()) });
export type WhereReply = v.InferOutput<typeof whereReplySchema>;

export const scoreRequestSchema = v.object({
	reward: v.string(),
	/** null reuses the rows from the previous request, in a process with built-in rewards. */
	rows: v.nullable(v.array(v.looseObject({}))),
	/** Timeout for the whole batch. */
	timeoutMs: v.number(),
	/** Whether to report which lines of the reward file run for these rows. */
	coverage: v.boolean(),
	/** Optimizer step that the batch belongs to; Python rewards see it as `trainer_state.global_step`. */
	step: v.exactOptional(v.number()),
});
export type ScoreRequest = v.InferOutput<typeof scoreRequestSchema>;

export const lineCoverageSchema = v.object({
	/** Executable lines of the reward file, 1-based; `reached` lists those that ran. */
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
	/** Metrics that a Python reward passed to `log_metric`, by name. */
	metrics: v.exactOptional(v.record(v.string(), v.number())),
});
export type ScoreReply = v.InferOutput<typeof scoreReplySchema>;
