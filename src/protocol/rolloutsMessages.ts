import * as v from 'valibot';
import { drawnBoxSchema, pictureFileSchema, pictureTypes, rolloutPictureSchema } from './rolloutPicture.ts';
import { rolloutSplits } from './rolloutSplit.ts';
import { runStatuses } from './runRecord.ts';

/*
 * Messages between the rollouts panel and its webview, in the envelope of webviewMessages.ts. A hidden webview receives
 * nothing, so `ready` is always answered with a complete `snapshot`. Updates are numbered, and on a gap the webview
 * sends `ready` again. Completion text is sent only on request.
 */

const nullableNumber = v.nullable(v.number());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Steps that have rollouts, ascending, with one entry per step in each column. */
export const stepColumnsSchema = v.object({
	step: v.array(v.number()),
	/** Index into `stages`, or -1 if the metrics do not specify a stage. */
	stage: v.array(v.number()),
	stages: v.array(v.string()),
	/** Mean total reward per step from the metrics, or null if they do not include it. */
	reward: v.array(nullableNumber),
	/** Fraction of groups with all-equal rewards, 0..1 (`frac_reward_zero_std`); null if unknown. */
	dead: v.array(nullableNumber),
});
export type StepColumns = v.InferOutput<typeof stepColumnsSchema>;

export const runHeaderSchema = v.object({
	/** Run folder, saved in the webview state so that the panel can be restored. */
	folder: v.string(),
	name: v.string(),
	/** Status from the reader's point of view: `running` without a live engine is reported as `crashed`. */
	status: v.nullable(v.picklist(runStatuses)),
	stage: v.nullable(v.string()),
	step: nullableNumber,
	/** Tags around thinking and answer in the run's template; null if there are none. */
	think: v.nullable(v.tuple([v.string(), v.string()])),
	answer: v.nullable(v.tuple([v.string(), v.string()])),
	/** Weight of each reward by name; unknown for rewards without an entry. */
	weights: v.array(v.tuple([v.string(), v.number()])),
	/**
	 * For another trainer's run: which trainer wrote it, and what its format does not record. Absent or null for our own
	 * runs.
	 */
	trainer: v.optional(
		v.nullable(
			v.object({
				format: v.string(),
				title: v.string(),
				notes: v.array(v.string()),
				/**
				 * The trainer's metric names for the columns of the step list; null for a column without a corresponding
				 * metric.
				 */
				names: v.object({ reward: v.nullable(v.string()), dead: v.nullable(v.string()) }),
			}),
		),
	),
	/** Whether the trainer records no steps, in which case all rollouts are at step `noStep`. */
	stepless: v.optional(v.boolean()),
	/** Steps with evaluation rollouts, ascending. */
	validation: v.optional(v.array(v.number())),
});
export type RunHeader = v.InferOutput<typeof runHeaderSchema>;

export const lengthUnits = ['tokens', 'characters'] as const;

/** A group without its text: enough for the list, the filters and the sort orders. Columns are parallel. */
export const groupSummarySchema = v.object({
	group: v.number(),
	/** Start of the prompt; the full prompt is sent with the group. */
	prompt: v.string(),
	answer: v.nullable(v.string()),
	index: v.array(v.number()),
	reward: v.array(nullableNumber),
	advantage: v.array(nullableNumber),
	/** null: not recorded. */
	truncated: v.array(v.nullable(v.boolean())),
	length: v.array(v.number()),
	/** Whether the accuracy reward considers the rollout correct; null if no reward checks correctness. */
	correct: v.array(v.nullable(v.boolean())),
	/** Computed over the non-null rewards; `std` is the sample standard deviation (n - 1), null for fewer than two. */
	mean: nullableNumber,
	std: nullableNumber,
	/**
	 * Whether all rewards are equal (max = min), so the group carries no learning signal. null if fewer than two are
	 * known.
	 */
	dead: v.nullable(v.boolean()),
});
export type GroupSummary = v.InferOutput<typeof groupSummarySchema>;

export const stepFaultsSchema = v.object({
	/** Number of unreadable lines. */
	unreadable: count,
	/** Messages for the first few unreadable lines: "line 3: invalid JSON". */
	examples: v.array(v.string()),
});

/** Values that tokens can be colored by. */
export const tokenValues = ['logprob', 'entropy', 'ratio', 'kl', 'advantage', 'weights'] as const;
export type TokenValue = (typeof tokenValues)[number];

/** A prompt or completion message, split into its parts. */
export const turnSchema = v.object({
	role: v.string(),
	name: v.nullable(v.string()),
	thinking: v.nullable(v.string()),
	content: v.string(),
	calls: v.array(v.object({ id: v.nullable(v.string()), name: v.string(), arguments: v.string() })),
	callId: v.nullable(v.string()),
});

/** Data about a message with tool calls that is not part of the message itself. */
export const madeTurnSchema = v.object({
	/** Message index; null if the calls are not in a message. */
	message: nullableNumber,
	reward: nullableNumber,
	seconds: nullableNumber,
	/** State of the environment after the turn, as JSON; null if not recorded. */
	state: v.nullable(v.string()),
	/** One entry per call in the message. */
	calls: v.array(
		v.object({
			name: v.string(),
			arguments: v.string(),
			/** Index of the message with the result; null if there is none. */
			result: nullableNumber,
			/** null if there is no result. */
			failed: v.nullable(v.boolean()),
			/** The result, if it is not in a message. */
			content: v.nullable(v.string()),
		}),
	),
});
export type MadeTurn = v.InferOutput<typeof madeTurnSchema>;

const weightsSchema = v.object({ oldest: v.number(), newest: v.number(), trained: nullableNumber });

export const rolloutDetailSchema = v.object({
	index: v.number(),
	/** null if it is too large to include; request it with `loadCompletion`. */
	completion: v.nullable(v.string()),
	/** Length of the completion in UTF-16 code units. */
	size: count,
	rewards: v.array(v.tuple([v.string(), nullableNumber])),
	reward: nullableNumber,
	advantage: nullableNumber,
	correct: v.nullable(v.boolean()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** Length of the completion in tokens; null if the line does not include it. */
	tokens: nullableNumber,
	/** Whether tokens were logged; `loadTokens` returns them. */
	hasTokens: v.boolean(),
	/** Which token values were recorded. */
	tokenValues: v.optional(v.array(v.picklist(tokenValues))),
	/** Number of messages, if the completion consists of several; `loadTurns` returns them. */
	turns: v.optional(v.nullable(v.number())),
	/** Number of activities in the timeline; absent if no times are recorded. `loadTimeline` returns them. */
	activities: v.optional(count),
	/** Number of tokens that came from an environment; absent if not recorded. */
	observed: v.optional(count),
	/** Versions of the weights that generated the completion (weightVersions.ts); absent if not recorded. */
	weights: v.optional(weightsSchema),
	/** Summary of an episode: a completion with tool calls or answers from an environment. */
	episode: v.optional(
		v.nullable(
			v.object({
				turns: count,
				calls: count,
				failures: count,
				/** Why the episode ended, in the trainer's words; null if not recorded. */
				stop: v.nullable(v.string()),
				/** Why it failed: "KeyError: 'x' (threw in reset, line 3)". */
				error: v.nullable(v.string()),
				/** Time in the environment. */
				seconds: nullableNumber,
				/** Whether its turns and its row are recorded, so that it can be repeated in the run's environment. */
				repeatable: v.optional(v.boolean()),
			}),
		),
	),
	/** Expected boxes and those in the completion, if the prompt has a picture and a reward scores boxes. */
	boxes: v.optional(v.array(drawnBoxSchema)),
	/** false if another trainer did not record the text; absent if the text is recorded or empty. */
	textRecorded: v.optional(v.boolean()),
	/** `extra` from the line as JSON text, truncated; null if there is none. */
	extra: v.nullable(v.string()),
});
export type RolloutDetail = v.InferOutput<typeof rolloutDetailSchema>;

/** Per-token values; columns are parallel, in nats. */
export const tokenColumnsSchema = v.object({
	text: v.array(v.string()),
	logprob: v.array(nullableNumber),
	oldLogprob: v.nullable(v.array(nullableNumber)),
	refLogprob: v.nullable(v.array(nullableNumber)),
	entropy: v.nullable(v.array(nullableNumber)),
	advantage: v.optional(v.nullable(v.array(nullableNumber))),
	/** Versions of the weights that generated the tokens. */
	version: v.optional(v.nullable(v.array(nullableNumber))),
	weights: v.optional(v.nullable(weightsSchema)),
	/** Ranges of tokens (start, end; end exclusive) that came from the environment and are not trained on; ascending. */
	observed: v.optional(v.array(v.tuple([count, count]))),
});
export type TokenColumns = v.InferOutput<typeof tokenColumnsSchema>;

/** Parameters that identify a step, a group and a rollout. */
export const rolloutParams = {
	split: v.optional(v.picklist(rolloutSplits), 'train'),
	step: v.number(),
	group: v.number(),
	index: v.number(),
} as const;
const { split } = rolloutParams;
const step = { step: rolloutParams.step };
const group = { ...step, group: rolloutParams.group };
const rollout = { ...group, index: rolloutParams.index };
const done = v.object({});
/** Identifies one rollout of the run. */
export const placeSchema = v.object({ ...rollout, split: v.picklist(rolloutSplits) });
export type Place = v.InferOutput<typeof placeSchema>;

export const rolloutsEventSchema = v.variant('type', [
	/** Complete state: everything the webview needs to start over. */
	v.object({ type: v.literal('snapshot'), sequence: count, run: runHeaderSchema, steps: stepColumnsSchema }),
	/** Changes since event `sequence - 1`: steps that were added or have new values. */
	v.object({ type: v.literal('news'), sequence: count, run: runHeaderSchema, changed: stepColumnsSchema }),
	/**
	 * Makes the webview show a step, and optionally a group and a completion, for example when a dashboard link is
	 * clicked.
	 */
	v.object({
		type: v.literal('reveal'),
		step: v.number(),
		group: v.nullable(v.number()),
		split: v.optional(v.picklist(rolloutSplits)),
		index: v.optional(v.nullable(v.number())),
		/** First and last token of the completion to highlight. */
		tokens: v.optional(v.nullable(v.tuple([v.number(), v.number()]))),
	}),
]);
export type RolloutsEvent = v.InferOutput<typeof rolloutsEventSchema>;
export const rolloutsCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('openDashboard') }),
	/** An error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);

export const copyParts = ['completion', 'prompt', 'json'] as const;
export type CopyPart = (typeof copyParts)[number];

/** Requests that the panel answers. Requests for a step whose file is gone fail with `missing`. */
export const rolloutsRequests = {
	loadStep: {
		params: v.object({ split, ...step }),
		result: v.object({
			...step,
			groups: v.array(groupSummarySchema),
			lengthUnit: v.picklist(lengthUnits),
			faults: stepFaultsSchema,
		}),
	},
	loadGroup: {
		/** `beside`: show it next to the open group without canceling that group's loading. */
		params: v.object({ split, ...group, beside: v.optional(v.boolean()) }),
		result: v.object({
			...group,
			prompt: v.string(),
			/** Set for prompts that consist of several messages. */
			promptTurns: v.optional(v.nullable(v.array(turnSchema))),
			/** Expected answer as text; null if not recorded. */
			answer: v.nullable(v.string()),
			/** Dataset row or problem key as text; null if not recorded. */
			row: v.nullable(v.string()),
			/** The prompt's picture; `loadPicture` returns its contents. */
			picture: v.optional(rolloutPictureSchema),
			rollouts: v.array(rolloutDetailSchema),
		}),
	},
	loadPicture: {
		params: v.object({ file: pictureFileSchema }),
		/** `content`: base64. */
		result: v.object({ type: v.picklist(pictureTypes), content: v.string() }),
	},
	loadCompletion: { params: v.object({ split, ...rollout }), result: v.object({ completion: v.string() }) },
	loadTokens: { params: v.object({ split, ...rollout }), result: tokenColumnsSchema },
	/** Searches the completions of one step, ignoring case, and returns the occurrences as parallel columns. */
	search: {
		params: v.object({ split, ...step, text: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)) }),
		result: v.object({ group: v.array(v.number()), index: v.array(v.number()), count: v.array(v.number()) }),
	},
	/** Copies to the clipboard. */
	copy: { params: v.object({ split, ...rollout, part: v.picklist(copyParts) }), result: done },
	/** Opens an untitled document beside the panel. */
	openText: { params: v.object({ split, ...rollout }), result: done },
	/** Opens a search for the rollout's problem, prefilled with what the run records about it. */
	searchProblem: { params: v.object({ split, ...rollout }), result: done },
	/** Opens the rollout's messages in the transcript inspector. */
	openTranscript: { params: v.object({ split, ...rollout }), result: done },
	/** Opens the rollout's episode in the episode view, with the run's copy of the environment. */
	openEpisode: { params: v.object({ split, ...rollout }), result: done },
} as const;
export type StepContent = v.InferOutput<typeof rolloutsRequests.loadStep.result>;
export type GroupContent = v.InferOutput<typeof rolloutsRequests.loadGroup.result>;
export type PictureContent = v.InferOutput<typeof rolloutsRequests.loadPicture.result>;
export type FoundColumns = v.InferOutput<typeof rolloutsRequests.search.result>;
