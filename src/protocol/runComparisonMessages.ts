import * as v from 'valibot';
import { comparedRuns } from './comparedRuns.ts';
import { pinnedChartSchema, pinnedChartsSchema } from './pinnedCharts.ts';
import { rolloutSplits } from './rolloutSplit.ts';
import { runStatuses } from './runRecord.ts';

/*
 * Messages between a run comparison panel and its webview, in the envelope of webviewMessages.ts. The panel answers
 * `ready` with everything: first the runs, then the curves of each. Every event is self-contained, so none depends on
 * another.
 */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));
const text = v.pipe(v.string(), v.maxLength(4096));
const value = v.nullable(v.number());
const f64 = v.instance(Float64Array);

/** The part of a saved state that the panel trusts. */
export const comparisonStateSchema = v.looseObject({
	folders: v.pipe(v.array(path), v.minLength(comparedRuns.min), v.maxLength(comparedRuns.max)),
});

/** Accuracy on held-out problems at one step. */
export const heldOutSchema = v.object({
	name: text,
	step: v.number(),
	problems: count,
	/** Samples per problem; the mean if the number varies. */
	samples: v.number(),
	accuracy: v.number(),
	/** 95% interval. */
	low: v.number(),
	high: v.number(),
	/** `evaluation`: as reported by the engine. `rollouts`: counted from the rollouts of an evaluation. */
	source: v.picklist(['evaluation', 'rollouts']),
});
export type HeldOut = v.InferOutput<typeof heldOutSchema>;

export const comparedRunSchema = v.object({
	folder: path,
	name: text,
	/** Trainer display name. */
	trainer: text,
	/** Format name, which determines how metrics are explained. */
	format: text,
	status: v.nullable(v.picklist(runStatuses)),
	/** Why the run cannot be read at the moment. */
	fault: v.nullable(v.object({ message: text, action: v.nullable(text) })),
	step: v.nullable(v.number()),
	/** Whether all data on disk has been read. */
	loaded: v.boolean(),
	/** Number of metrics omitted because there are too many. */
	droppedNames: count,
	/** Number shared by runs whose recipes differ only in the seed; null if there is no other such run. */
	seedGroup: v.nullable(count),
});
export type ComparedRun = v.InferOutput<typeof comparedRunSchema>;

export const comparisonEventSchema = v.variant('type', [
	/** All runs in the order they were selected. */
	v.object({ type: v.literal('runs'), runs: v.array(comparedRunSchema) }),
	/** All curves of one run, for every metric that it shares with another run. */
	v.object({
		type: v.literal('curves'),
		run: count,
		step: f64,
		time: f64,
		tokens: f64,
		names: v.array(v.string()),
		values: v.array(f64),
		rowsPerPoint: count,
		/** Number of metrics that only this run has. */
		alone: count,
	}),
	/** The workspace's pinned charts. */
	v.object({ type: v.literal('pinned'), charts: pinnedChartsSchema }),
	/** Progress of the search for shared prompts. */
	v.object({
		type: v.literal('promptProgress'),
		/** Search counter, used to discard messages from earlier searches. */
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
	/** Changes the selected runs. */
	v.object({ type: v.literal('choose') }),
	v.object({ type: v.literal('openDashboard'), run: count }),
	v.object({ type: v.literal('cancelPrompts') }),
	/** Pins a chart for the workspace, or unpins it. */
	v.object({ type: v.literal('pin'), chart: pinnedChartSchema, pinned: v.boolean() }),
	/** An error in the webview's own code, for the log. */
	v.object({ type: v.literal('fault'), message: v.pipe(v.string(), v.maxLength(20_000)) }),
]);
export type ComparisonCommand = v.InferOutput<typeof comparisonCommandSchema>;

/** A prompt that at least two of the runs share. */
export const sharedPromptSchema = v.object({
	hash: v.pipe(v.string(), v.maxLength(64)),
	/** Start of the prompt. */
	prompt: v.string(),
	/** Number of groups with the prompt, per run. */
	groups: v.array(count),
});
export type SharedPrompt = v.InferOutput<typeof sharedPromptSchema>;

export const promptCompletionSchema = v.object({
	index: v.number(),
	reward: value,
	correct: v.nullable(v.boolean()),
	/** null: not recorded. */
	truncated: v.nullable(v.boolean()),
	/** Start of the text; `size` is the full length in UTF-16 code units. */
	text: v.string(),
	size: count,
});
export type PromptCompletion = v.InferOutput<typeof promptCompletionSchema>;

export const promptSideSchema = v.object({
	/** Steps where the prompt was found, ascending. */
	steps: v.array(v.number()),
	/** The displayed group; null if the run does not have the prompt. */
	shown: v.nullable(
		v.object({
			step: v.number(),
			split: v.picklist(rolloutSplits),
			group: v.number(),
			completions: v.array(promptCompletionSchema),
			/** Number of additional completions in the group. */
			more: count,
		}),
	),
});
export type PromptSide = v.InferOutput<typeof promptSideSchema>;

const pairedCounts = v.object({
	/** Parallel arrays: correct samples and total samples for each paired problem. */
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
	/** Returns the keys that differ between the resolved recipes. */
	recipes: {
		params: v.object({}),
		result: v.object({
			changed: v.array(v.object({ key: v.string(), values: v.array(v.nullable(v.string())) })),
			same: count,
			without: v.array(count),
			cut: count,
		}),
	},
	/** Opens two recipes in the editor's diff view. */
	openRecipes: { params: v.object({ first: count, second: count }), result: done },
	/** Returns each run's held-out results, by name and step. */
	heldOut: { params: v.object({}), result: v.object({ runs: v.array(v.array(heldOutSchema)) }) },
	/** Pairs the samples of two evaluations by problem; `reason` explains why they cannot be paired. */
	pair: {
		params: v.object({ first: heldOutPlace, second: heldOutPlace }),
		result: v.object({ counts: v.nullable(pairedCounts), reason: v.nullable(v.string()) }),
	},
	/** Searches for prompts that several runs share; `all` reads everything. Progress is reported in `promptProgress`. */
	prompts: {
		params: v.object({ all: v.boolean() }),
		result: v.object({
			prompts: v.array(sharedPromptSchema),
			/** Number of distinct prompts seen in each run. */
			seen: v.array(count),
			/** Whether the search was cut short to finish in time. */
			bounded: v.boolean(),
			canceled: v.boolean(),
			skipped: count,
		}),
	},
	/**
	 * Returns each run's completions for a prompt, at the step given for that run or, if none is given, at the latest
	 * one.
	 */
	prompt: {
		params: v.object({ hash: v.pipe(v.string(), v.maxLength(64)), steps: v.array(v.nullable(v.number())) }),
		result: v.object({ prompt: v.string(), sides: v.array(promptSideSchema) }),
	},
	/** Opens a group in the rollouts panel of its run. */
	openRollouts: {
		params: v.object({ run: count, split: v.picklist(rolloutSplits), step: v.number(), group: v.number() }),
		result: done,
	},
} as const;
export type PairResult = v.InferOutput<typeof comparisonRequests.pair.result>;
export type RecipesResult = v.InferOutput<typeof comparisonRequests.recipes.result>;
export type PromptsResult = v.InferOutput<typeof comparisonRequests.prompts.result>;
export type PromptResult = v.InferOutput<typeof comparisonRequests.prompt.result>;
