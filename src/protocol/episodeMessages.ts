import * as v from 'valibot';
import { toolSchemaSchema } from './environmentHost.ts';
import { episodeErrorSchema, toolCallSchema } from './episode.ts';

/*
 * Messages between the episode view (webview/episode) and its panel. The panel runs the environment and owns the
 * episodes; the view owns the selection and the form, and renders everything. Both sides validate incoming messages.
 */

/** Maximum number of episodes in a view, and of turns in an episode. */
export const maxBranches = 30;
export const maxTurns = 500;
/** Maximum length of an observation or tool result in the view, in characters. */
export const maxShownText = 120_000;
/** Maximum number of calls in a turn. */
export const maxCalls = 20;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const name = v.pipe(v.string(), v.maxLength(400));
const columns = v.record(v.string(), v.unknown());
const state = v.exactOptional(v.record(v.string(), v.unknown()));
const logs = v.exactOptional(v.array(v.string()));
/** Full length of truncated text, and a hash for comparing it with other truncated text. */
const rest = v.exactOptional(v.object({ length: v.number(), hash: v.string() }));

export const shownTurnSchema = v.object({
	calls: v.array(toolCallSchema),
	/** Results as the model sees them. Missing if the turn failed. */
	results: v.array(
		v.object({
			name: v.string(),
			content: v.string(),
			rest,
			failed: v.boolean(),
			/** Exception message. */
			message: v.exactOptional(v.string()),
			/** 1-based line in the environment file. */
			line: v.exactOptional(v.number()),
		}),
	),
	done: v.nullable(v.boolean()),
	/** null: not recorded. */
	durationMs: v.nullable(v.number()),
	/** Reward of the turn, if the environment gives one. */
	reward: v.exactOptional(v.nullable(v.number())),
	state,
	/** Output printed during the turn, up to a limit. */
	logs,
});
export type ShownTurn = v.InferOutput<typeof shownTurnSchema>;

/** Origin of an episode in the view. */
export const branchOriginSchema = v.variant('kind', [
	/** Played by hand. */
	v.object({ kind: v.literal('stepped') }),
	/** Played elsewhere: a policy's episode from a verification, a rollout, or a saved episode. */
	v.object({ kind: v.literal('recorded'), label: name }),
	/** Follows another episode up to a turn. */
	v.object({ kind: v.literal('branch'), of: whole, turn: whole }),
	/** Repeats the calls of another episode. */
	v.object({ kind: v.literal('replay'), of: whole }),
]);
export type BranchOrigin = v.InferOutput<typeof branchOriginSchema>;

/** An episode in the view. */
export const episodeBranchSchema = v.object({
	id: whole,
	origin: branchOriginSchema,
	/** 0-based dataset row; null if its columns were entered by hand or it is unknown. */
	row: v.nullable(v.number()),
	columns,
	/** Seed of the process's random number generator. */
	seed: whole,
	/**
	 * Version of the code that played it, counted from 1 since the view was opened; null if the episode was recorded
	 * elsewhere or restored after a reload.
	 */
	version: v.nullable(v.number()),
	/** null if reset failed or has not returned. */
	reset: v.nullable(
		v.object({
			observation: v.nullable(v.string()),
			rest,
			done: v.nullable(v.boolean()),
			durationMs: v.nullable(v.number()),
			state,
			logs,
		}),
	),
	turns: v.pipe(v.array(shownTurnSchema), v.maxLength(maxTurns)),
	/** Reward after the last turn. null if not requested. If its value is null, the reward does not apply. */
	reward: v.nullable(v.object({ value: v.nullable(v.number()) })),
	error: v.exactOptional(episodeErrorSchema),
	/** Note for the user about this episode, such as why it differs from the one it repeats. */
	note: v.exactOptional(v.string()),
});
export type EpisodeBranch = v.InferOutput<typeof episodeBranchSchema>;

const shownToolSchema = v.object({
	name: v.string(),
	/** null if the tool cannot be described to a model; `fault` says why. */
	schema: v.nullable(toolSchemaSchema),
	fault: v.nullable(v.string()),
});

const failure = v.object({
	message: v.string(),
	action: v.nullable(v.string()),
	/** 1-based line in the environment file. */
	line: v.nullable(v.number()),
});

/** Everything in the view except the episodes. */
export const episodeStatusSchema = v.object({
	/** Absolute path of the environment file. */
	file: v.string(),
	/** Folder of the run that owns this copy of the file; null for a workspace file. */
	runFolder: v.nullable(v.string()),
	/** Why environments cannot run in this window; null if they can. */
	forbidden: v.nullable(v.string()),
	/** Version of the code, counted from 1 since the view was opened. */
	version: v.number(),
	/** null until the file has been loaded. */
	environment: v.nullable(
		v.object({
			name: v.string(),
			tools: v.array(shownToolSchema),
			ownsReward: v.boolean(),
			reportsDone: v.boolean(),
			rewardRange: v.nullable(v.tuple([v.number(), v.number()])),
		}),
	),
	/** Selectable rows, each as one line of text. `dataset` is null if there is no dataset. */
	rows: v.array(v.object({ row: v.number(), label: v.string() })),
	dataset: v.nullable(v.string()),
	remarks: v.array(v.string()),
	/** Current action, such as "Calling guess". */
	busy: v.nullable(v.string()),
	/** Why the latest action failed, or why the file could not be loaded. */
	failure: v.nullable(failure),
	/** Whether episodes can be debugged and saved here. */
	debugs: v.boolean(),
	saves: v.boolean(),
});
export type EpisodeStatus = v.InferOutput<typeof episodeStatusSchema>;

/** Turn to show: 0 is the reset, n is the nth turn. */
const show = v.object({ branch: whole, turn: whole });

export const episodeEventSchema = v.variant('type', [
	/** Complete state. */
	v.object({
		type: v.literal('snapshot'),
		status: episodeStatusSchema,
		branches: v.array(episodeBranchSchema),
		show: v.nullable(show),
	}),
	v.object({ type: v.literal('status'), status: episodeStatusSchema }),
	/** An episode that is new or has changed, and the turn to show, if any. */
	v.object({ type: v.literal('branch'), branch: episodeBranchSchema, show: v.nullable(whole) }),
	/** Episodes that remain after others were removed. */
	v.object({ type: v.literal('kept'), branches: v.array(whole) }),
	/** The code has changed. */
	v.object({ type: v.literal('changed'), version: v.number() }),
]);
export type EpisodeEvent = v.InferOutput<typeof episodeEventSchema>;

const calls = v.pipe(v.array(toolCallSchema), v.minLength(1), v.maxLength(maxCalls));
const seed = v.pipe(whole, v.maxValue(2 ** 31 - 1));

export const episodeCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Starts an episode with a row from the list, or with columns entered by hand. */
	v.object({ type: v.literal('reset'), index: v.nullable(whole), columns: v.nullable(columns), seed }),
	/** Makes the calls for the turn after `turn`. Creates a branch if the episode already continues past `turn`. */
	v.object({ type: v.literal('call'), branch: whole, turn: whole, calls }),
	v.object({ type: v.literal('reward'), branch: whole }),
	/** Repeats the calls of an episode with the current code. */
	v.object({ type: v.literal('replay'), branch: whole }),
	v.object({ type: v.literal('remove'), branch: whole }),
	/** Cancels the current action. */
	v.object({ type: v.literal('stop') }),
	/** Starts a new process. */
	v.object({ type: v.literal('restart') }),
	/** Debugs an episode up to a turn, stopping in the tools that the turn calls; 0 is the reset. */
	v.object({ type: v.literal('debug'), branch: whole, turn: whole }),
	/** Saves an episode as a labeled episode. */
	v.object({ type: v.literal('save'), branch: whole }),
	v.object({ type: v.literal('openFile'), line: v.nullable(v.number()) }),
	v.object({ type: v.literal('trust') }),
	/** An error in the page's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type EpisodeCommand = v.InferOutput<typeof episodeCommandSchema>;

export const episodeRequests = {
	/** Returns a row's columns as JSON text. Fails with `missing` if the list of rows has changed. */
	loadRow: { params: v.object({ index: whole }), result: v.object({ text: v.string() }) },
} as const;

export const replaySpeeds = [0.5, 1, 2, 4, 8, 16, 32] as const;

const fieldInput = v.object({ given: v.picklist(['value', 'null', 'omitted']), text: v.string() });

/** View state that survives a window reload. Nothing in it runs until the user asks for it. */
export const episodeStateSchema = v.object({
	file: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
	/** Folder of the run that owns this copy of the file. */
	runFolder: v.nullable(v.pipe(v.string(), v.minLength(1), v.maxLength(4096))),
	branches: v.pipe(v.array(episodeBranchSchema), v.maxLength(maxBranches)),
	show: v.nullable(show),
	compareWith: v.nullable(whole),
	speed: v.picklist(replaySpeeds),
	replaysOnSave: v.boolean(),
	form: v.object({
		seed: v.pipe(v.string(), v.maxLength(40)),
		row: v.nullable(v.number()),
		/** Columns entered by hand, as JSON text; null to use the row's own columns. */
		columns: v.nullable(v.string()),
		tool: v.nullable(name),
		inputs: v.record(v.string(), v.record(v.string(), fieldInput)),
		/** Calls to send together with the next one. */
		pending: v.pipe(v.array(toolCallSchema), v.maxLength(maxCalls)),
	}),
});
export type EpisodeState = v.InferOutput<typeof episodeStateSchema>;
