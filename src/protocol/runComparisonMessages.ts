import * as v from 'valibot';
import { comparedRuns } from './comparedRuns.ts';
import { rolloutSplits } from './rolloutSplit.ts';
import { runStatuses } from './runRecord.ts';

/*
 * Messages between a run comparison panel and its webview, in the envelope of webviewMessages.ts. `ready` is answered with
 * everything: the runs, then each one's curves. Every event is complete for what it is about, so none needs another.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));
const text = v.pipe(v.string(), v.maxLength(4096));
const value = v.nullable(v.number());
const f64 = v.instance(Float64Array);

/** A saved state as far as the panel trusts it. */
export const comparisonStateSchema = v.looseObject({
	folders: v.pipe(v.array(path), v.minLength(comparedRuns.least), v.maxLength(comparedRuns.most)),
});

/** Right answers on held-out problems, at one step. */
export const heldOutSchema = v.object({
	name: text,
	step: v.number(),
	problems: count,
	/** Of each problem; a mean where that differs. */
	samples: v.number(),
	accuracy: v.number(),
	/** 95% interval. */
	low: v.number(),
	high: v.number(),
	/** `evaluation`: as the engine told it; `rollouts`: counted from the rollouts of an evaluation. */
	source: v.picklist(['evaluation', 'rollouts']),
});
export type HeldOut = v.InferOutput<typeof heldOutSchema>;

export const comparedRunSchema = v.object({
	folder: path,
	name: text,
	/** The trainer for a person. */
	trainer: text,
	/** Name of the format; metrics are explained by it. */
	format: text,
	status: v.nullable(v.picklist(runStatuses)),
	/** Why it cannot be read now. */
	fault: v.nullable(v.object({ message: text, action: v.nullable(text) })),
	step: v.nullable(v.number()),
	/** Everything that was on disk has been read. */
	loaded: v.boolean(),
	/** Metrics that were left out because there are too many. */
	droppedNames: count,
});
export type ComparedRun = v.InferOutput<typeof comparedRunSchema>;

export const comparisonEventSchema = v.variant('type', [
	/** All runs, in the order in which they were chosen. */
	v.object({ type: v.literal('runs'), runs: v.array(comparedRunSchema) }),
	/** The curves of one run: of every metric that another has too. Complete. */
	v.object({
		type: v.literal('curves'),
		run: count,
		step: f64,
		time: f64,
		tokens: f64,
		names: v.array(v.string()),
		values: v.array(f64),
		rowsPerPoint: count,
		/** Metrics that this run alone has. */
		alone: count,
	}),
	/** How far the search for shared prompts is. */
	v.object({
		type: v.literal('promptProgress'),
		/** Counts searches, so that what is left of an earlier one is known. */
		search: count,
		rollouts: count,
		steps: count,
		totalSteps: count,
		skipped: count,
	}),
]);
export type ComparisonEvent = v.InferOutput<typeof comparisonEventSchema>;

export const comparisonCommandSchema = v.variant('type', [
	v.object({ type: v.literal('ready') }),
	/** Another choice of runs. */
	v.object({ type: v.literal('choose') }),
	v.object({ type: v.literal('openDashboard'), run: count }),
	v.object({ type: v.literal('cancelPrompts') }),
	/** An error of the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type ComparisonCommand = v.InferOutput<typeof comparisonCommandSchema>;

/** A prompt that at least two of the runs have. */
export const sharedPromptSchema = v.object({
	hash: v.pipe(v.string(), v.maxLength(64)),
	/** Its beginning. */
	prompt: v.string(),
	/** For each run: in how many groups it was found. */
	groups: v.array(count),
});
export type SharedPrompt = v.InferOutput<typeof sharedPromptSchema>;

export const promptCompletionSchema = v.object({
	index: v.number(),
	reward: value,
	correct: v.nullable(v.boolean()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** Its beginning; `size` is the length of the whole in UTF-16 code units. */
	text: v.string(),
	size: count,
});
export type PromptCompletion = v.InferOutput<typeof promptCompletionSchema>;

export const promptSideSchema = v.object({
	/** Steps at which the prompt was found, ascending. */
	steps: v.array(v.number()),
	/** What is shown; null: the run does not have the prompt. */
	shown: v.nullable(
		v.object({
			step: v.number(),
			split: v.picklist(rolloutSplits),
			group: v.number(),
			completions: v.array(promptCompletionSchema),
			/** Completions of the group beyond those. */
			more: count,
		}),
	),
});
export type PromptSide = v.InferOutput<typeof promptSideSchema>;

const pairedCounts = v.object({
	/** Parallel: right samples and samples of each paired problem. */
	firstRight: v.array(count),
	firstSamples: v.array(count),
	secondRight: v.array(count),
	secondSamples: v.array(count),
	onlyFirst: count,
	onlySecond: count,
});

const done = v.object({});
const heldOutPlace = v.object({
	run: count,
	name: text,
	step: v.number(),
	source: v.picklist(['evaluation', 'rollouts']),
});

export const comparisonRequests = {
	/** Keys of the resolved recipes that differ. */
	recipes: {
		params: v.object({}),
		result: v.object({
			changed: v.array(v.object({ key: v.string(), values: v.array(v.nullable(v.string())) })),
			same: count,
			without: v.array(count),
			cut: count,
		}),
	},
	/** Two recipes in the editor's own comparison. */
	openRecipes: { params: v.object({ first: count, second: count }), result: done },
	/** What each run tells of held-out problems, by name and step. */
	heldOut: { params: v.object({}), result: v.object({ runs: v.array(v.array(heldOutSchema)) }) },
	/** The samples of two evaluations, by problem; `reason` says why they cannot be paired. */
	pair: {
		params: v.object({ first: heldOutPlace, second: heldOutPlace }),
		result: v.object({ counts: v.nullable(pairedCounts), reason: v.nullable(v.string()) }),
	},
	/** Looks for prompts that several runs have; `all` reads everything. Told on the way by `promptProgress`. */
	prompts: {
		params: v.object({ all: v.boolean() }),
		result: v.object({
			prompts: v.array(sharedPromptSchema),
			/** Distinct prompts of each run that were seen. */
			seen: v.array(count),
			/** Something was left out to end in time. */
			bounded: v.boolean(),
			cancelled: v.boolean(),
			skipped: count,
		}),
	},
	/** What each run made of a prompt; at the step that is named for it, else at the newest. */
	prompt: {
		params: v.object({ hash: v.pipe(v.string(), v.maxLength(64)), steps: v.array(v.nullable(v.number())) }),
		result: v.object({ prompt: v.string(), sides: v.array(promptSideSchema) }),
	},
	/** A group in the rollouts panel of its run. */
	openRollouts: {
		params: v.object({ run: count, split: v.picklist(rolloutSplits), step: v.number(), group: v.number() }),
		result: done,
	},
} as const;
export type PairResult = v.InferOutput<typeof comparisonRequests.pair.result>;
export type RecipesResult = v.InferOutput<typeof comparisonRequests.recipes.result>;
export type PromptsResult = v.InferOutput<typeof comparisonRequests.prompts.result>;
export type PromptResult = v.InferOutput<typeof comparisonRequests.prompt.result>;
