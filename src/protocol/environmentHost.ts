import * as v from 'valibot';
import { episodeErrorKinds } from './episode.ts';

/**
 * Requests to a host process that runs an environment. The process is the same as a reward host
 * (src/protocol/rewardHost.ts), with the same framing, limits and errors; only the file it loads differs.
 */
export const environmentHostMethods = {
	/** Loads an environment file. Can be called only once per process. */
	load: 'environment/load',
	/** Starts an episode in an instance, which is created on first use and then reused. */
	reset: 'environment/reset',
	/** Makes one turn's tool calls. */
	call: 'environment/call',
	reward: 'environment/reward',
	/** Plays a whole episode whose calls are known in advance: reset, turns and reward in one request. */
	play: 'environment/play',
	/** Removes an instance. */
	end: 'environment/end',
	/** Returns the environment's own rows; only environments from other libraries provide any. */
	rows: 'environment/rows',
} as const;

/** Line range of a signature, 1-based. */
const location = v.object({ line: v.number(), endLine: v.number() });

/** JSON schema of a tool, as trainers pass it to a chat template. */
export const toolSchemaSchema = v.looseObject({
	name: v.string(),
	description: v.string(),
	parameters: v.looseObject({
		type: v.literal('object'),
		properties: v.record(v.string(), v.looseObject({})),
		required: v.optional(v.array(v.string())),
	}),
	return: v.optional(v.looseObject({})),
});
export type ToolSchema = v.InferOutput<typeof toolSchemaSchema>;

export const toolDescriptionSchema = v.object({
	name: v.string(),
	isAsync: v.boolean(),
	/** null if another file defines the tool. */
	location: v.nullable(location),
	/** null if the tool cannot be described to a model; `fault` says why. */
	schema: v.nullable(toolSchemaSchema),
	fault: v.nullable(v.object({ kind: v.picklist(['docstring', 'types']), message: v.string() })),
});
export type ToolDescription = v.InferOutput<typeof toolDescriptionSchema>;

export const environmentDescriptionSchema = v.object({
	/** Class name. */
	name: v.string(),
	tools: v.array(toolDescriptionSchema),
	/** Named parameters of `reset`, and whether it also accepts all other columns of a row. */
	resetParameters: v.array(v.string()),
	resetTakesAll: v.boolean(),
	asyncReset: v.boolean(),
	/** Whether the class has `get_reward`. */
	ownsReward: v.boolean(),
	/** Whether instances have a boolean `done`. */
	reportsDone: v.boolean(),
	/** Smallest and largest reward, if the class declares them (`reward_range`). */
	rewardRange: v.optional(v.tuple([v.number(), v.number()])),
	location,
	/** Locations of `reset` and `get_reward`, if the file defines them. */
	places: v.record(v.string(), location),
	/** Library and version that the environment comes from, such as `verifiers 0.4.0`; absent for a file. */
	library: v.exactOptional(v.string()),
	/** false if only one episode can run at a time. */
	concurrent: v.exactOptional(v.boolean()),
});
export type EnvironmentDescription = v.InferOutput<typeof environmentDescriptionSchema>;

/**
 * - `file`: a class in a file
 * - `verifiers`: a verifiers package, by module name or folder
 * - `openenv`: an OpenEnv environment, by folder or server address
 */
export const environmentKinds = ['file', 'verifiers', 'openenv'] as const;
export type EnvironmentKind = (typeof environmentKinds)[number];

export const environmentLoadRequestSchema = v.object({
	/** Absolute path of the environment file or folder, or a package name or server address. */
	file: v.string(),
	/** Default `file`. */
	kind: v.optional(v.picklist(environmentKinds)),
	/** Arguments for the package or server. */
	arguments: v.optional(v.record(v.string(), v.unknown())),
	/** Seed for the process's global random number generator. */
	seed: v.number(),
	memoryMb: v.optional(v.number()),
});
export type EnvironmentLoadRequest = v.InferOutput<typeof environmentLoadRequestSchema>;

export const environmentLoadResultSchema = v.object({
	environment: environmentDescriptionSchema,
	/** All local files that were loaded (absolute, the environment file first). */
	files: v.array(v.string()),
	logs: v.array(v.string()),
	durationMs: v.number(),
});
export type EnvironmentLoadResult = v.InferOutput<typeof environmentLoadResultSchema>;

const instanceRequest = {
	/** Instance number. */
	instance: v.number(),
	/** Whether to summarize the instance's state in the reply. */
	state: v.optional(v.boolean()),
};
const toolCalls = v.array(v.object({ name: v.string(), arguments: v.unknown() }));
/** Dataset columns. Unlike `v.record`, this accepts any name. */
const row = v.custom<Readonly<Record<string, unknown>>>((value) => {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}, 'not an object');

export const instanceRequestSchema = v.object(instanceRequest);
export type InstanceRequest = v.InferOutput<typeof instanceRequestSchema>;

export const resetRequestSchema = v.object({
	...instanceRequest,
	row,
	/** Seed for the process's global random number generator. Default: not reseeded. */
	seed: v.exactOptional(v.number()),
});
export type ResetRequest = v.InferOutput<typeof resetRequestSchema>;

/** An episode to play in a debugger, stored as a file. */
export const debuggedEpisodeSchema = v.object({
	load: environmentLoadRequestSchema,
	reset: v.object({ row, seed: v.number() }),
	/** Calls by turn. */
	calls: v.array(toolCalls),
});
export type DebuggedEpisode = v.InferOutput<typeof debuggedEpisodeSchema>;

export const callRequestSchema = v.object({ ...instanceRequest, calls: toolCalls });
export type CallRequest = v.InferOutput<typeof callRequestSchema>;

export const playRequestSchema = v.object({
	...instanceRequest,
	row,
	/** Calls by turn. */
	calls: v.array(toolCalls),
	/** Whether to ask for a reward at the end. */
	ownsReward: v.boolean(),
});
export type PlayRequest = v.InferOutput<typeof playRequestSchema>;
export const environmentRowsSchema = v.object({ rows: v.array(row) });
export type EnvironmentRows = v.InferOutput<typeof environmentRowsSchema>;

const hostError = v.object({
	kind: v.picklist(episodeErrorKinds),
	message: v.string(),
	stack: v.exactOptional(v.string()),
	line: v.exactOptional(v.number()),
});

/** Fields common to all replies to requests about an instance. */
const instanceReply = {
	/** Set if user code failed; other results are then missing or incomplete. */
	error: v.exactOptional(hostError),
	/** Value of the instance's `done` attribute; null if it has no such boolean. */
	done: v.nullable(v.boolean()),
	durationMs: v.number(),
	/** Output printed by user code, line by line. */
	logs: v.exactOptional(v.array(v.string())),
	/** Summary of the instance's attributes, if requested. */
	state: v.exactOptional(v.record(v.string(), v.unknown())),
};

export const resetReplySchema = v.object({
	...instanceReply,
	observation: v.exactOptional(v.nullable(v.string())),
});
export type ResetReply = v.InferOutput<typeof resetReplySchema>;

export const callReplySchema = v.object({
	...instanceReply,
	/** Sum of what the calls added to the instance's `turn_rewards`; absent if they added nothing. */
	reward: v.exactOptional(v.number()),
	results: v.exactOptional(
		v.array(
			v.object({
				name: v.string(),
				content: v.string(),
				failed: v.boolean(),
				/** Exception message. */
				message: v.exactOptional(v.string()),
				line: v.exactOptional(v.number()),
				stack: v.exactOptional(v.string()),
			}),
		),
	),
});
export type CallReply = v.InferOutput<typeof callReplySchema>;

export const rewardReplySchema = v.object({
	...instanceReply,
	value: v.exactOptional(v.nullable(v.number())),
});
export type RewardReply = v.InferOutput<typeof rewardReplySchema>;

export const playReplySchema = v.object({
	reset: resetReplySchema,
	/** Shorter than the script if user code failed. */
	turns: v.array(callReplySchema),
	/** null if user code failed earlier, or if no reward was requested. */
	reward: v.nullable(rewardReplySchema),
});
export type PlayReply = v.InferOutput<typeof playReplySchema>;
