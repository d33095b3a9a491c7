import * as v from 'valibot';
import { benchmarkNames } from './benchmarks.ts';
import { datasetParts } from './datasetPart.ts';
import { policySpecSchema } from './policySpec.ts';
import { taskDatasetSchema } from './recipe.ts';
import { samplingSpecSchema, scorerSpecSchema, searchSpecSchema } from './searchSpec.ts';
import { searchBudgetSchema, stopReasons } from './treeLog.ts';

/*
 * A comparison of search strategies is a folder: `comparison.json` says what is compared, `problems.jsonl` on what,
 * `results.jsonl` has one line for each problem and point that is done, `trees/` the logs of its searches and `summary.json`
 * what follows from the results so far. See docs/strategy-comparison.md.
 */

export const comparisonFormat = 1;

const text = v.pipe(v.string(), v.minLength(1));
const count = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const record = v.record(v.string(), v.unknown());

const parts = v.picklist(datasetParts);

/** Where problems come from. `limit`: the first so many; default: all that there are, of a generator 500. */
export const problemsSpecSchema = v.variant('from', [
	/** Rows of a file: JSONL, JSON, CSV, TSV, Parquet or Arrow. Columns that are not named are guessed. */
	v.object({
		from: v.literal('file'),
		path: text,
		prompt: v.optional(text),
		answer: v.optional(text),
		/** The rows are this benchmark's, which then says what they are and how answers are judged. */
		benchmark: v.optional(v.picklist(benchmarkNames)),
		limit: v.optional(count(1e9)),
	}),
	/** Problems of a task generator: held out, as every run of it holds them out, or others. */
	v.object({
		from: v.literal('task'),
		task: taskDatasetSchema,
		part: v.optional(parts, 'held-out'),
		limit: v.optional(count(1e6)),
	}),
	/** Problems of a run's dataset, held out or trained on. */
	v.object({
		from: v.literal('run'),
		run: text,
		part: v.optional(parts, 'held-out'),
		limit: v.optional(count(1e6)),
	}),
	/** Problems of a dataset as a run's recipe.json has it: every default filled in, paths absolute. */
	v.object({
		from: v.literal('dataset'),
		dataset: record,
		seed: v.optional(v.number(), 1),
		part: v.optional(parts, 'held-out'),
		limit: v.optional(count(1e6)),
	}),
]);
export type ProblemsSpec = v.InferOutput<typeof problemsSpecSchema>;

/** A strategy, and the points at which it is measured: each with parameters or a budget of its own. */
export const comparedStrategySchema = v.object({
	/** Default: the strategy's, with its scorer. */
	name: v.optional(text),
	strategy: text,
	params: v.optional(record, {}),
	guide: v.optional(v.nullable(scorerSpecSchema), null),
	judge: v.optional(v.nullable(scorerSpecSchema), null),
	split: v.optional(searchSpecSchema.entries.split.wrapped),
	points: v.optional(
		v.pipe(
			v.array(v.object({ params: v.optional(record, {}), budget: v.optional(searchBudgetSchema, {}) })),
			v.minLength(1),
			v.maxLength(64),
		),
		[{ params: {}, budget: {} }],
	),
});
export type ComparedStrategy = v.InferOutput<typeof comparedStrategySchema>;

export const comparisonSpecSchema = v.object({
	name: v.optional(text, 'comparison'),
	policy: policySpecSchema,
	problems: problemsSpecSchema,
	strategies: v.pipe(v.array(comparedStrategySchema), v.minLength(1), v.maxLength(32)),
	/** Single samples of each problem: what strategies are compared with, and the curves' largest k. */
	samples: v.optional(count(1024), 16),
	/** Further samples of each problem, which decide its difficulty band and nothing else; 0: no bands. */
	bandSamples: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1024)), 8),
	bands: v.optional(count(20), 5),
	sampling: v.optional(samplingSpecSchema, {}),
	split: searchSpecSchema.entries.split,
	tags: searchSpecSchema.entries.tags,
	/** Of each search. */
	concurrency: v.optional(count(256), 16),
	/** Searches under way at a time: many make large batches for the policy. */
	searches: v.optional(count(4096), 64),
	/** Whether the logs of all searches are kept. */
	trees: v.optional(v.boolean(), true),
	seed: v.optional(v.number(), 0),
});
export type ComparisonSpec = v.InferOutput<typeof comparisonSpecSchema>;
export type ComparisonSpecInput = v.InferInput<typeof comparisonSpecSchema>;

/** `comparison.json` */
export const comparisonFileSchema = v.object({
	format: v.number(),
	spec: comparisonSpecSchema,
	/** Of the problems: continuing with others would mix two comparisons. */
	problemsHash: text,
	/** Unix seconds. */
	created: v.number(),
});
export type ComparisonFile = v.InferOutput<typeof comparisonFileSchema>;

/** A line of `problems.jsonl`; its number from 0 is the problem's. */
export const comparedProblemSchema = v.object({
	key: v.string(),
	prompt: v.string(),
	answer: v.nullable(v.string()),
	row: v.optional(record, {}),
});
export type ComparedProblem = v.InferOutput<typeof comparedProblemSchema>;

const correct = v.nullable(v.picklist([0, 1]));

/** One of the single samples. */
export const sampleResultSchema = v.object({
	/** null: it cannot be told, for want of a gold answer. */
	correct,
	/** Number of its answer's class within the problem; null: it states none. */
	class: v.nullable(whole),
	/** It has finished. */
	final: v.boolean(),
	tokens: v.number(),
	/** By the scorers that choose among samples, in the order in which strategies name them. */
	scores: v.optional(v.array(v.nullable(v.number()))),
});
export type SampleResult = v.InferOutput<typeof sampleResultSchema>;

/** Points that are no strategy's: the single samples, and those that decide about bands. */
export const samplePoints = ['samples', 'bands'] as const;

/** A line of `results.jsonl`: one search that has ended. Of two lines of one place the later counts. */
export const comparisonResultSchema = v.object({
	point: text,
	problem: whole,
	/** Of the answer that was chosen. */
	correct,
	answer: v.nullable(v.string()),
	/** Some final answer of the search is right, chosen or not. */
	any: correct,
	value: v.optional(v.nullable(v.number()), null),
	stop: v.picklist(stopReasons),
	tokens: v.number(),
	promptTokens: v.optional(v.nullable(v.number()), null),
	nodes: v.number(),
	simulations: v.optional(v.number(), 0),
	seconds: v.number(),
	cost: v.optional(v.nullable(v.number()), null),
	/** The policy or a scorer failed, so that it says nothing of the strategy; it is tried again. */
	failed: v.optional(v.string()),
	/** Of the points `samples` and `bands`. */
	samples: v.optional(v.array(sampleResultSchema)),
});
export type ComparisonResult = v.InferOutput<typeof comparisonResultSchema>;

/** A mean over problems with its 95% interval. */
export const intervalSchema = v.object({ mean: v.number(), low: v.number(), high: v.number() });
export type Interval = v.InferOutput<typeof intervalSchema>;

export const pointSummarySchema = v.object({
	/** As in `results.jsonl`. */
	id: v.string(),
	/** Which strategy of the specification; null: the mean single sample. */
	strategy: v.nullable(whole),
	/** Of the strategy, for people, and what tells its points apart. */
	name: v.string(),
	label: v.string(),
	/** A scorer of it looks at the gold answer: an upper bound and no result. */
	oracle: v.boolean(),
	/** Computed from the single samples instead of searches of its own. */
	shared: v.boolean(),
	/** Problems that count, of those that failed, and of those without a gold answer. */
	problems: whole,
	failed: whole,
	unjudged: whole,
	accuracy: v.nullable(intervalSchema),
	/** Over the mean single sample of the same problems, paired; null for itself. */
	gain: v.nullable(intervalSchema),
	/** Share of problems of which some final answer is right: an upper bound. */
	any: v.nullable(v.number()),
	/** Means of a problem. */
	tokens: v.nullable(v.number()),
	nodes: v.nullable(v.number()),
	/** While as many searches ran as the specification says; null: not measured. */
	seconds: v.nullable(v.number()),
	cost: v.nullable(v.number()),
	stops: v.record(v.string(), v.number()),
	/** By difficulty band, the easiest first. */
	bands: v.array(v.object({ problems: whole, accuracy: v.nullable(intervalSchema), gain: v.nullable(intervalSchema) })),
	/** Trees of its own are there to be opened, at this place of the folder. */
	trees: v.nullable(v.string()),
});
export type PointSummary = v.InferOutput<typeof pointSummarySchema>;

export const curveSchema = v.object({
	/** `pass`: some of k samples is right (an upper bound); `cons`: the majority of k is. */
	measure: v.picklist(['pass', 'cons']),
	/** null: of all problems. */
	band: v.nullable(whole),
	points: v.array(v.object({ k: whole, ...intervalSchema.entries })),
});
export type Curve = v.InferOutput<typeof curveSchema>;

/** `summary.json` */
export const comparisonSummarySchema = v.object({
	format: v.number(),
	name: v.string(),
	policy: v.string(),
	/** How far it is: searches that are done, of so many. */
	done: whole,
	total: whole,
	state: v.picklist(['running', 'ended', 'stopped', 'failed']),
	/** Why it failed or stopped. */
	message: v.nullable(v.string()),
	/** Searches of `done` without a result, since the policy or a scorer failed; they are tried again. */
	failed: v.optional(whole, 0),
	/** Why, the most frequent first. */
	failures: v.optional(v.array(v.object({ message: v.string(), count: whole })), []),
	problems: whole,
	/** Samples of each problem that the mean single sample is over. */
	samples: whole,
	seconds: v.number(),
	/** Of all searches. */
	tokens: v.number(),
	bands: v.array(
		v.object({
			problems: whole,
			/** The policy's success rate on its problems, by samples that count for nothing else. */
			low: v.number(),
			high: v.number(),
			mean: v.number(),
		}),
	),
	points: v.array(pointSummarySchema),
	curves: v.array(curveSchema),
});
export type ComparisonSummary = v.InferOutput<typeof comparisonSummarySchema>;
