import * as v from 'valibot';
import { rolloutSplits } from './rolloutSplit.ts';
import { runStatuses } from './runRecord.ts';

/*
 * Messages between the rollouts panel and its webview, in the envelope of webviewMessages.ts. A hidden webview hears
 * nothing, so `ready` is always answered with a complete `snapshot`; news are numbered, and a gap makes the webview say
 * `ready` again. Texts of completions travel only when they are asked for.
 */

const nullableNumber = v.nullable(v.number());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** The steps that have rollouts, ascending, one entry a step in each column. */
export const stepColumnsSchema = v.object({
	step: v.array(v.number()),
	/** Index into `stages`; -1 where the metrics do not name one. */
	stage: v.array(v.number()),
	stages: v.array(v.string()),
	/** Mean total reward of the step, from its metrics; null where these do not tell it. */
	reward: v.array(nullableNumber),
	/** Share of groups whose rewards are all equal, 0..1 (`frac_reward_zero_std`); null where it is not told. */
	dead: v.array(nullableNumber),
});
export type StepColumns = v.InferOutput<typeof stepColumnsSchema>;

export const runHeaderSchema = v.object({
	/** Folder of the run: kept in the webview's state, so that the panel can be revived. */
	folder: v.string(),
	name: v.string(),
	/** As judged by the reader: `running` without a live engine is `crashed` here. */
	status: v.nullable(v.picklist(runStatuses)),
	stage: v.nullable(v.string()),
	step: nullableNumber,
	/** Tags around thinking and answer, as the run's template has them; null: none. */
	think: v.nullable(v.tuple([v.string(), v.string()])),
	answer: v.nullable(v.tuple([v.string(), v.string()])),
	/** Weight of each reward by name; a name without an entry has no known weight. */
	weights: v.array(v.tuple([v.string(), v.number()])),
	/** Of another trainer's run: who wrote it, and what its format does not record; absent or null: one of our own. */
	trainer: v.optional(
		v.nullable(
			v.object({
				format: v.string(),
				title: v.string(),
				notes: v.array(v.string()),
				/** What the trainer calls the columns of the list of steps; null: it has no such metric. */
				names: v.object({ reward: v.nullable(v.string()), dead: v.nullable(v.string()) }),
			}),
		),
	),
	/** Its trainer records no steps: all rollouts lie at the one place `noStep`. */
	stepless: v.optional(v.boolean()),
	/** Steps that have rollouts of evaluations, ascending. */
	validation: v.optional(v.array(v.number())),
});
export type RunHeader = v.InferOutput<typeof runHeaderSchema>;

export const lengthUnits = ['tokens', 'characters'] as const;

/** A group without its texts: enough for the list, the filters and the sort orders. Columns are parallel. */
export const groupSummarySchema = v.object({
	group: v.number(),
	/** Beginning of the prompt; the whole of it comes with the group. */
	prompt: v.string(),
	answer: v.nullable(v.string()),
	index: v.array(v.number()),
	reward: v.array(nullableNumber),
	advantage: v.array(nullableNumber),
	/** null: not recorded. */
	truncated: v.array(v.nullable(v.boolean())),
	length: v.array(v.number()),
	/** Whether the accuracy reward calls it correct; null: no reward judges that. */
	correct: v.array(v.nullable(v.boolean())),
	/** Over the rewards that are not null; `std` is the sample one (n - 1), null below two. */
	mean: nullableNumber,
	std: nullableNumber,
	/** All rewards equal (max = min): the group carries no learning signal. null: fewer than two are known. */
	dead: v.nullable(v.boolean()),
});
export type GroupSummary = v.InferOutput<typeof groupSummarySchema>;

export const stepFaultsSchema = v.object({
	/** Lines that could not be read. */
	unreadable: count,
	/** The first of them, in words: "line 3: not JSON". */
	examples: v.array(v.string()),
});

/** What a token can be colored by. */
export const tokenValues = ['logprob', 'entropy', 'ratio', 'kl', 'advantage'] as const;
export type TokenValue = (typeof tokenValues)[number];

/** A message of a prompt or completion with its parts distinguished. */
export const turnSchema = v.object({
	role: v.string(),
	name: v.nullable(v.string()),
	thinking: v.nullable(v.string()),
	content: v.string(),
	calls: v.array(v.object({ id: v.nullable(v.string()), name: v.string(), arguments: v.string() })),
	callId: v.nullable(v.string()),
});

export const rolloutDetailSchema = v.object({
	index: v.number(),
	/** null: not sent yet (large); ask with `loadCompletion`. */
	completion: v.nullable(v.string()),
	/** UTF-16 code units of the completion. */
	size: count,
	rewards: v.array(v.tuple([v.string(), nullableNumber])),
	reward: nullableNumber,
	advantage: nullableNumber,
	correct: v.nullable(v.boolean()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** Length of the completion in tokens; null where the line does not tell it. */
	tokens: nullableNumber,
	/** Whether each token was logged: `loadTokens` brings them. */
	hasTokens: v.boolean(),
	/** What of its tokens was recorded. */
	tokenValues: v.optional(v.array(v.picklist(tokenValues))),
	/** Of a completion that is several messages, how many: `loadTurns` brings them. */
	turns: v.optional(v.nullable(v.number())),
	/** False: another trainer kept no text of it; absent: it did, or it is empty. */
	textRecorded: v.optional(v.boolean()),
	/** `extra` of the line as JSON text, shortened; null if there is none. */
	extra: v.nullable(v.string()),
});
export type RolloutDetail = v.InferOutput<typeof rolloutDetailSchema>;

/** What one token was worth; columns are parallel, in nats. */
export const tokenColumnsSchema = v.object({
	text: v.array(v.string()),
	logprob: v.array(nullableNumber),
	oldLogprob: v.nullable(v.array(nullableNumber)),
	refLogprob: v.nullable(v.array(nullableNumber)),
	entropy: v.nullable(v.array(nullableNumber)),
	advantage: v.optional(v.nullable(v.array(nullableNumber))),
});
export type TokenColumns = v.InferOutput<typeof tokenColumnsSchema>;

/** Parameters by which a step, a group and a rollout are named. */
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
/** One rollout of the run. */
export const placeSchema = v.object({ ...rollout, split: v.picklist(rolloutSplits) });
export type Place = v.InferOutput<typeof placeSchema>;

export const rolloutsEventSchema = v.variant('type', [
	/** Complete: everything the webview needs to start over. */
	v.object({ type: v.literal('snapshot'), sequence: count, run: runHeaderSchema, steps: stepColumnsSchema }),
	/** News since event `sequence - 1`: the steps that were added, or whose numbers changed. */
	v.object({ type: v.literal('news'), sequence: count, run: runHeaderSchema, changed: stepColumnsSchema }),
	/** Asks the webview to show a step (and group, and completion), as when the dashboard links to it. */
	v.object({
		type: v.literal('reveal'),
		step: v.number(),
		group: v.nullable(v.number()),
		split: v.optional(v.picklist(rolloutSplits)),
		index: v.optional(v.nullable(v.number())),
	}),
]);
export type RolloutsEvent = v.InferOutput<typeof rolloutsEventSchema>;
export const rolloutsCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	v.object({ type: v.literal('openDashboard') }),
	/** An error of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type RolloutsCommand = v.InferOutput<typeof rolloutsCommandSchema>;

export const copyParts = ['completion', 'prompt', 'json'] as const;
export type CopyPart = (typeof copyParts)[number];

/** What the panel answers. A step whose file is gone fails with `missing`. */
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
		/** `beside`: it is shown beside the open group, whose loading it does not end. */
		params: v.object({ split, ...group, beside: v.optional(v.boolean()) }),
		result: v.object({
			...group,
			prompt: v.string(),
			/** Of a prompt that is several messages. */
			promptTurns: v.optional(v.nullable(v.array(turnSchema))),
			/** The expected answer as text; null: none recorded. */
			answer: v.nullable(v.string()),
			/** The dataset row or problem key as text; null: none recorded. */
			row: v.nullable(v.string()),
			rollouts: v.array(rolloutDetailSchema),
		}),
	},
	loadCompletion: { params: v.object({ split, ...rollout }), result: v.object({ completion: v.string() }) },
	loadTokens: { params: v.object({ split, ...rollout }), result: tokenColumnsSchema },
	/** Case-insensitive text search in the completions of one step: where it occurs, as parallel columns. */
	search: {
		params: v.object({ split, ...step, text: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)) }),
		result: v.object({ group: v.array(v.number()), index: v.array(v.number()), count: v.array(v.number()) }),
	},
	/** To the clipboard. */
	copy: { params: v.object({ split, ...rollout, part: v.picklist(copyParts) }), result: done },
	/** As an untitled document beside the panel. */
	openText: { params: v.object({ split, ...rollout }), result: done },
	/** A search on its problem, set up with what the run knows of it. */
	searchProblem: { params: v.object({ split, ...rollout }), result: done },
	/** Its messages in the transcript inspector. */
	openTranscript: { params: v.object({ split, ...rollout }), result: done },
} as const;
export type StepContent = v.InferOutput<typeof rolloutsRequests.loadStep.result>;
export type GroupContent = v.InferOutput<typeof rolloutsRequests.loadGroup.result>;
export type FoundColumns = v.InferOutput<typeof rolloutsRequests.search.result>;
