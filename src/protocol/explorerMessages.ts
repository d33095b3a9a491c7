import * as v from 'valibot';
import { failureDataSchema } from './failureData.ts';
import { completionRatings, preferenceChoices } from './feedback.ts';
import {
	madeTurnSchema,
	placeSchema,
	rolloutDetailSchema,
	rolloutParams,
	rolloutsCommandSchema,
	rolloutsEventSchema,
	rolloutsRequests,
	turnSchema,
} from './rolloutsMessages.ts';
import { rolloutTimelineSchema } from './rolloutTimeline.ts';
import { stepRatings } from './stepLabel.ts';

/*
 * Messages between the rollouts panel and its webview that are not about steps and groups: completion messages, scans
 * of the whole run, labels, exports and continuations. A scan reports its results as events that carry the scan's
 * number.
 */

const nullableNumber = v.nullable(v.number());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const { split, step, group, index } = rolloutParams;
const inGroup = { step, group };
const inRollout = { step, group, index };
const done = v.object({});

/** Answers to a prompt at one step. The columns are parallel arrays. */
export const promptRowSchema = v.object({
	...inGroup,
	index: v.array(v.number()),
	reward: v.array(nullableNumber),
	correct: v.array(v.nullable(v.boolean())),
	/** null if not recorded. */
	truncated: v.array(v.nullable(v.boolean())),
	length: v.array(v.number()),
	/** Answer extracted from the completion, truncated; null if there is none. */
	answer: v.array(v.nullable(v.string())),
});
export type PromptRow = v.InferOutput<typeof promptRowSchema>;

/** Reasoning behaviors in a step's rollouts. */
export const behaviorRowSchema = v.object({
	step,
	/** Number of rollouts read. */
	rollouts: count,
	/**
	 * Number of rollouts that show each behavior, and number of occurrences. Parallel to `behaviors`
	 * (src/core/trace/behaviors.ts).
	 */
	showing: v.array(count),
	total: v.array(count),
	/** First example in the step for each behavior that occurs. */
	examples: v.array(
		v.object({
			behavior: v.number(),
			group: v.number(),
			index: v.number(),
			before: v.string(),
			match: v.string(),
			after: v.string(),
		}),
	),
});
export type BehaviorRow = v.InferOutput<typeof behaviorRowSchema>;

/** States of a scan over the run's steps. */
export const scanStates = ['running', 'complete', 'bounded', 'stopped', 'failed'] as const;
const scanned = {
	/** Scan number assigned by the webview. */
	scan: count,
	state: v.picklist(scanStates),
	/** Number of steps read so far, and total number of steps. */
	done: count,
	total: count,
	rollouts: count,
	/** Number of items that could not be read. */
	skipped: count,
	/** Whether the results come from the rollout index, which covers everything. */
	indexed: v.boolean(),
	failure: v.nullable(failureDataSchema),
};

export const explorerEventSchema = v.variant('type', [
	/** Rows found since the scan's last event, in no particular order. */
	v.object({ type: v.literal('promptScan'), ...scanned, rows: v.array(promptRowSchema) }),
	v.object({ type: v.literal('behaviorScan'), ...scanned, rows: v.array(behaviorRowSchema) }),
	/** New output of a continuation since its last event. */
	v.object({
		type: v.literal('continuation'),
		continuation: count,
		state: v.picklist(['running', 'finished', 'stopped', 'failed']),
		text: v.string(),
		/** Whether a finished continuation ended before reaching the token limit. */
		ended: v.boolean(),
		failure: v.nullable(failureDataSchema),
	}),
]);
export type ExplorerEvent = v.InferOutput<typeof explorerEventSchema>;
export type Continuation = Extract<ExplorerEvent, { type: 'continuation' }>;

/** Maximum length of a continuation's prefix, in UTF-16 code units. */
export const longestPrefix = 4_000_000;

export const explorerCommandSchema = v.variant('type', [
	/** Scans the run for this group's prompt. `all`: ignore the scan limit. */
	v.object({ type: v.literal('scanPrompt'), scan: count, split, ...inGroup, all: v.boolean() }),
	v.object({ type: v.literal('scanBehaviors'), scan: count, split, all: v.boolean() }),
	v.object({ type: v.literal('stopScan'), scan: count }),
	/** Uses the policy to continue from the rollout's prompt and the given completion prefix. */
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
export type ExplorerCommand = v.InferOutput<typeof explorerCommandSchema>;

/** Parts of a run that can be exported. */
export const exportScopes = ['group', 'step', 'rollouts'] as const;
/** Maximum number of rollouts in an explicit selection. */
export const maxExported = 100_000;

export const explorerRequests = {
	/** Loads a rollout with its completion, from any group. */
	loadRollout: {
		params: v.object({ split, ...inRollout }),
		result: v.object({
			...inRollout,
			prompt: v.string(),
			answer: v.nullable(v.string()),
			rollout: rolloutDetailSchema,
		}),
	},
	/** Loads turns. `parents` has the same format as in a rollouts file; null if each turn follows the previous one. */
	loadTurns: {
		params: v.object({ split, ...inRollout }),
		result: v.object({
			turns: v.array(turnSchema),
			parents: v.nullable(v.array(nullableNumber)),
			/** Messages that called tools or received an answer, in order. */
			made: v.optional(v.array(madeTurnSchema)),
		}),
	},
	/** Loads a rollout's timeline. */
	loadTimeline: {
		params: v.object({ split, ...inRollout }),
		result: v.object({ activities: rolloutTimelineSchema }),
	},
	/** Opens two completions in the editor's diff view. */
	openDiff: { params: v.object({ left: placeSchema, right: placeSchema }), result: done },
	/** Loads the thinking steps of a completion as UTF-16 offsets into it, along with the user's ratings. */
	loadLabels: {
		/**
		 * `rule`: how to split the thinking section; null to use the rule from the completion's labels, or one inferred from
		 * the text.
		 */
		params: v.object({ split, ...inRollout, rule: v.optional(v.nullable(v.string()), null) }),
		result: v.object({
			/** Rule used to split the thinking section. */
			rule: v.string(),
			steps: v.array(v.object({ start: count, end: count })),
			ratings: v.array(v.nullable(v.picklist(stepRatings))),
		}),
	},
	/** Immediately saves labels next to the run. */
	saveLabels: {
		params: v.object({
			split,
			...inRollout,
			rule: v.string(),
			ratings: v.array(v.nullable(v.picklist(stepRatings))),
		}),
		result: done,
	},
	/** Loads the ratings of completions in a group, listing the current user's ratings separately. */
	loadFeedback: {
		params: v.object({ split, ...inGroup }),
		result: v.object({
			/** Rater name for ratings from this window. */
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
	/** Immediately saves a rating next to the run. null clears the rating. */
	saveRating: {
		params: v.object({ split, ...inRollout, rating: v.nullable(v.picklist(completionRatings)) }),
		result: done,
	},
	/** Loads the current user's preference between two completions; null if there is none. */
	loadPreference: {
		params: v.object({ a: placeSchema, b: placeSchema }),
		result: v.object({
			/** Whether both completions answer the same prompt, so a preference between them is meaningful. */
			samePrompt: v.boolean(),
			choice: v.nullable(v.picklist(preferenceChoices)),
		}),
	},
	savePreference: {
		params: v.object({ a: placeSchema, b: placeSchema, choice: v.nullable(v.picklist(preferenceChoices)) }),
		result: done,
	},
	/**
	 * Asks the user for a format and a file, then writes the export. `rollouts`: restricts the export to these rollouts.
	 * Returns false if the user canceled.
	 */
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
	/** Returns the policy that can continue a completion from a step, and advice if there is none. */
	policy: {
		params: v.object({ step }),
		result: v.object({
			ready: v.boolean(),
			/** Description such as "The live engine, at step 40", or the reason why there is none. */
			message: v.string(),
			/** How to make a policy available; null if that is not possible. */
			action: v.nullable(v.string()),
			temperature: v.number(),
			maxTokens: v.number(),
		}),
	},
} as const;
export type RolloutContent = v.InferOutput<typeof explorerRequests.loadRollout.result>;
export type TurnsContent = v.InferOutput<typeof explorerRequests.loadTurns.result>;
export type FeedbackContent = v.InferOutput<typeof explorerRequests.loadFeedback.result>;
export type LabelsContent = v.InferOutput<typeof explorerRequests.loadLabels.result>;
export type PolicyContent = v.InferOutput<typeof explorerRequests.policy.result>;

/** All events that the panel sends to its webview. */
export const panelEventSchema = v.union([rolloutsEventSchema, explorerEventSchema]);
export type PanelEvent = v.InferOutput<typeof panelEventSchema>;
export const panelCommandSchema = v.union([rolloutsCommandSchema, explorerCommandSchema]);
export type PanelCommand = v.InferOutput<typeof panelCommandSchema>;
export const panelRequests = { ...rolloutsRequests, ...explorerRequests } as const;
