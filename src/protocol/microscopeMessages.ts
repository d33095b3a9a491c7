import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';
import { completionRatings, preferenceChoices } from './feedback.ts';
import {
	placeSchema,
	rolloutDetailSchema,
	rolloutParams,
	rolloutsCommandSchema,
	rolloutsEventSchema,
	rolloutsRequests,
	turnSchema,
} from './rolloutsMessages.ts';
import { stepRatings } from './stepLabel.ts';

/*
 * What the rollouts panel and its webview say to each other beyond steps and groups: messages of a completion, ways through
 * the whole run, labels, exports, continuations. A way through the run tells what it finds as events that carry its number.
 */

const nullableNumber = v.nullable(v.number());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const { split, step, group, index } = rolloutParams;
const inGroup = { step, group };
const inRollout = { step, group, index };
const done = v.object({});

/** What the answers to one prompt were at one step; columns are parallel. */
export const promptRowSchema = v.object({
	...inGroup,
	index: v.array(v.number()),
	reward: v.array(nullableNumber),
	correct: v.array(v.nullable(v.boolean())),
	/** null: not recorded. */
	truncated: v.array(v.nullable(v.boolean())),
	length: v.array(v.number()),
	/** What the completion gives as its answer, shortened; null: none can be read out of it. */
	answer: v.array(v.nullable(v.string())),
});
export type PromptRow = v.InferOutput<typeof promptRowSchema>;

/** How a step's rollouts reason. */
export const behaviourRowSchema = v.object({
	step,
	/** Rollouts that were read. */
	rollouts: count,
	/** Parallel to `behaviors` (src/core/trace/behaviors.ts): rollouts that show it, and how often they do. */
	showing: v.array(count),
	total: v.array(count),
	/** The first of the step for each behavior that shows. */
	examples: v.array(
		v.object({
			behaviour: v.number(),
			group: v.number(),
			index: v.number(),
			before: v.string(),
			match: v.string(),
			after: v.string(),
		}),
	),
});
export type BehaviourRow = v.InferOutput<typeof behaviourRowSchema>;

/** How far a way through the steps of the run is. */
export const scanStates = ['running', 'complete', 'bounded', 'stopped', 'failed'] as const;
const scanned = {
	/** Number that the webview gave it. */
	scan: count,
	state: v.picklist(scanStates),
	/** Steps read, and steps there are. */
	done: count,
	total: count,
	rollouts: count,
	/** What could not be read. */
	skipped: count,
	/** The lab's index answered: everything was inspected. */
	indexed: v.boolean(),
	failure: v.nullable(failureDataSchema),
};

export const microscopeEventSchema = v.variant('type', [
	/** Rows that a scan found since its last event, in no order. */
	v.object({ type: v.literal('promptScan'), ...scanned, rows: v.array(promptRowSchema) }),
	v.object({ type: v.literal('behaviourScan'), ...scanned, rows: v.array(behaviourRowSchema) }),
	/** What a continuation has brought since its last event. */
	v.object({
		type: v.literal('continuation'),
		continuation: count,
		state: v.picklist(['running', 'finished', 'stopped', 'failed']),
		text: v.string(),
		/** Of a finished one: it finished, and not to the limit of tokens. */
		ended: v.boolean(),
		failure: v.nullable(failureDataSchema),
	}),
]);
export type MicroscopeEvent = v.InferOutput<typeof microscopeEventSchema>;
export type PromptScan = Extract<MicroscopeEvent, { type: 'promptScan' }>;
export type BehaviourScan = Extract<MicroscopeEvent, { type: 'behaviourScan' }>;
export type Continuation = Extract<MicroscopeEvent, { type: 'continuation' }>;

/** UTF-16 code units of what a continuation continues from. */
export const longestPrefix = 4_000_000;

export const microscopeCommandSchema = v.variant('type', [
	/** The same prompt over training: of the group at this place. `all`: without the bound of a scan. */
	v.object({ type: v.literal('scanPrompt'), scan: count, split, ...inGroup, all: v.boolean() }),
	v.object({ type: v.literal('scanBehaviours'), scan: count, split, all: v.boolean() }),
	v.object({ type: v.literal('stopScan'), scan: count }),
	/** The policy continues from the rollout's prompt and this beginning of a completion. */
	v.object({
		type: v.literal('continueFrom'),
		continuation: count,
		split,
		...inRollout,
		prefix: v.pipe(v.string(), v.maxLength(longestPrefix)),
		maxTokens: v.pipe(count, v.minValue(1), v.maxValue(100_000)),
		temperature: v.pipe(v.number(), v.minValue(0), v.maxValue(10)),
	}),
	v.object({ type: v.literal('stopContinuation'), continuation: count }),
]);
export type MicroscopeCommand = v.InferOutput<typeof microscopeCommandSchema>;

/** What of the run is exported. */
export const exportScopes = ['group', 'step', 'rollouts'] as const;
/** Rollouts that are named one by one. */
export const maxExported = 100_000;

export const microscopeRequests = {
	/** One rollout with its completion, of any group. */
	loadRollout: {
		params: v.object({ split, ...inRollout }),
		result: v.object({
			...inRollout,
			prompt: v.string(),
			answer: v.nullable(v.string()),
			rollout: rolloutDetailSchema,
		}),
	},
	/** `parents` as in a line of a rollouts file; null: each follows the one before. */
	loadTurns: {
		params: v.object({ split, ...inRollout }),
		result: v.object({ turns: v.array(turnSchema), parents: v.nullable(v.array(nullableNumber)) }),
	},
	/** Two completions in the editor's own comparison. */
	openDiff: { params: v.object({ left: placeSchema, right: placeSchema }), result: done },
	/** The steps of a completion's thinking, as offsets (UTF-16) of the completion, and how a person rated them. */
	loadLabels: {
		/** `rule`: cut by it; null: as it was labeled, or as the text suggests. */
		params: v.object({ split, ...inRollout, rule: v.optional(v.nullable(v.string()), null) }),
		result: v.object({
			/** How it was cut. */
			rule: v.string(),
			steps: v.array(v.object({ start: count, end: count })),
			ratings: v.array(v.nullable(v.picklist(stepRatings))),
		}),
	},
	/** Saved at once, beside the run. */
	saveLabels: {
		params: v.object({
			split,
			...inRollout,
			rule: v.string(),
			ratings: v.array(v.nullable(v.picklist(stepRatings))),
		}),
		result: done,
	},
	/** How people rated the completions of a group, the person of this window apart. */
	loadFeedback: {
		params: v.object({ split, ...inGroup }),
		result: v.object({
			/** The name that ratings of this window carry. */
			rater: v.string(),
			completions: v.array(
				v.object({
					index,
					mine: v.nullable(v.picklist(completionRatings)),
					others: v.array(v.object({ rater: v.string(), rating: v.picklist(completionRatings) })),
				}),
			),
		}),
	},
	/** Saved at once, beside the run; null takes a rating back. */
	saveRating: {
		params: v.object({ split, ...inRollout, rating: v.nullable(v.picklist(completionRatings)) }),
		result: done,
	},
	/** What the person of this window said of two completions; null: nothing. */
	loadPreference: {
		params: v.object({ a: placeSchema, b: placeSchema }),
		result: v.object({
			/** Two completions can be distinguished where they answer one prompt. */
			samePrompt: v.boolean(),
			choice: v.nullable(v.picklist(preferenceChoices)),
		}),
	},
	savePreference: {
		params: v.object({ a: placeSchema, b: placeSchema, choice: v.nullable(v.picklist(preferenceChoices)) }),
		result: done,
	},
	/** Asks the person for format and file, then writes. `rollouts`: these alone. False: the user canceled. */
	export: {
		params: v.object({
			split,
			scope: v.picklist(exportScopes),
			step: nullableNumber,
			group: nullableNumber,
			rollouts: v.pipe(v.array(placeSchema), v.maxLength(maxExported)),
		}),
		result: v.object({ written: v.boolean() }),
	},
	/** Who would continue from a completion of a step; what to do when nobody can. */
	policy: {
		params: v.object({ step }),
		result: v.object({
			ready: v.boolean(),
			/** "The live engine, at step 40", or why there is none. */
			message: v.string(),
			/** How to get one; null: there is no way. */
			action: v.nullable(v.string()),
			temperature: v.number(),
			maxTokens: v.number(),
		}),
	},
} as const;
export type RolloutContent = v.InferOutput<typeof microscopeRequests.loadRollout.result>;
export type TurnsContent = v.InferOutput<typeof microscopeRequests.loadTurns.result>;
export type FeedbackContent = v.InferOutput<typeof microscopeRequests.loadFeedback.result>;
export type LabelsContent = v.InferOutput<typeof microscopeRequests.loadLabels.result>;
export type PolicyContent = v.InferOutput<typeof microscopeRequests.policy.result>;

/** All that the panel and its webview say. */
export const panelEventSchema = v.union([rolloutsEventSchema, microscopeEventSchema]);
export type PanelEvent = v.InferOutput<typeof panelEventSchema>;
export const panelCommandSchema = v.union([rolloutsCommandSchema, microscopeCommandSchema]);
export type PanelCommand = v.InferOutput<typeof panelCommandSchema>;
export const panelRequests = { ...rolloutsRequests, ...microscopeRequests } as const;
