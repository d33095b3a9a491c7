import * as v from 'valibot';
import { benchmarkNames } from './benchmarks.ts';
import { datasetParts } from './datasetPart.ts';
import { policySpecSchema } from './policySpec.ts';
import { taskDatasetSchema } from './recipeKeys/recipe.ts';
import { samplingSpecSchema, scorerSpecSchema, searchEnvironmentSchema, searchSpecSchema } from './searchSpec.ts';
import { searchBudgetSchema, stopReasons } from './treeLog.ts';

/*
 * A comparison of search strategies is a folder: `comparison.json` defines what is compared, `problems.jsonl` lists the
 * problems, `results.jsonl` has one line per finished problem and point, `trees/` contains the search logs, and
 * `summary.json` summarizes the results so far. See docs/strategy-comparison.md.
 */

export const comparisonFormat = 1;

const text = v.pipe(v.string(), v.minLength(1));
const count = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(max));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const record = v.record(v.string(), v.unknown());

const parts = v.picklist(datasetParts);

/** Source of the problems. `limit`: use only this many, from the start; default: all, or 500 for a generator. */
export const problemsSpecSchema = v.variant('from', [
	/** Rows of a file: JSONL, JSON, CSV, TSV, Parquet or Arrow. Columns that are not specified are guessed. */
	v.object({
		from: v.literal('file'),
		path: text,
		prompt: v.optional(text),
		answer: v.optional(text),
		/** Treats the rows as this benchmark, which determines their columns and how answers are checked. */
		benchmark: v.optional(v.picklist(benchmarkNames)),
		limit: v.optional(count(1e9)),
	}),
	/** Problems from a task generator: either those that every run on the task holds out, or other problems. */
	v.object({
		from: v.literal('task'),
		task: taskDatasetSchema,
		part: v.optional(parts, 'held-out'),
		limit: v.optional(count(1e6)),
	}),
	/** Problems from a run's dataset, held out or used for training. */
	v.object({
		from: v.literal('run'),
		run: text,
		part: v.optional(parts, 'held-out'),
		limit: v.optional(count(1e6)),
	}),
	/** Problems from a dataset as specified in a run's recipe.json: all defaults filled in, absolute paths. */
	v.object({
		from: v.literal('dataset'),
		dataset: record,
		seed: v.optional(v.number(), 1),
		part: v.optional(parts, 'held-out'),
		limit: v.optional(count(1e6)),
	}),
]);
export type ProblemsSpec = v.InferOutput<typeof problemsSpecSchema>;

/** Source of a comparison's problems. */
const comparedProblemsSchema = v.variant('from', [
	...problemsSpecSchema.options,
	/** Rows for the comparison's environment, from the dataset file it names or from its library. */
	v.object({ from: v.literal('environment'), limit: v.optional(count(1e6)) }),
]);
export type ComparedProblemsSpec = v.InferOutput<typeof comparedProblemsSchema>;

/** A strategy and the points at which it is evaluated, each with its own parameters or budget. */
export const comparedStrategySchema = v.object({
	/** Default: the strategy name with its scorer. */
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
	problems: comparedProblemsSchema,
	/**
	 * Plays an episode in this environment for each problem, with the problem's columns as the row. An episode is
	 * correct if it gets the maximum reward.
	 */
	environment: v.optional(searchEnvironmentSchema),
	strategies: v.pipe(v.array(comparedStrategySchema), v.minLength(1), v.maxLength(32)),
	/** Independent samples per problem: the baseline for all strategies, and the largest k in the curves. */
	samples: v.optional(count(1024), 16),
	/** Additional samples per problem, used only to determine its difficulty band; 0 for no bands. */
	bandSamples: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1024)), 8),
	bands: v.optional(count(20), 5),
	sampling: v.optional(samplingSpecSchema, {}),
	split: searchSpecSchema.entries.split,
	tags: searchSpecSchema.entries.tags,
	/** Maximum number of concurrent requests per search. */
	concurrency: v.optional(count(256), 16),
	/** Number of concurrent searches; more searches give the policy larger batches. */
	searches: v.optional(count(4096), 64),
	/** Whether to keep the logs of all searches. */
	trees: v.optional(v.boolean(), true),
	seed: v.optional(v.number(), 0),
});
export type ComparisonSpec = v.InferOutput<typeof comparisonSpecSchema>;
export type ComparisonSpecInput = v.InferInput<typeof comparisonSpecSchema>;

/** `comparison.json` */
export const comparisonFileSchema = v.object({
	format: v.number(),
	spec: comparisonSpecSchema,
	/** Hash of the problems; continuing with different ones would mix two comparisons. */
	problemsHash: text,
	/** Unix time in seconds. */
	created: v.number(),
	/** Proof that this user started the comparison with this specification (runs/searchSeal.ts). */
	seal: v.optional(text),
});
export type ComparisonFile = v.InferOutput<typeof comparisonFileSchema>;

/** A line of `problems.jsonl`; problems are numbered by line, from 0. */
export const comparedProblemSchema = v.object({
	key: v.string(),
	prompt: v.string(),
	answer: v.nullable(v.string()),
	row: v.optional(record, {}),
});
export type ComparedProblem = v.InferOutput<typeof comparedProblemSchema>;

const correct = v.nullable(v.picklist([0, 1]));

/** Result of one independent sample. */
export const sampleResultSchema = v.object({
	/** null if unknown because there is no gold answer. */
	correct,
	/** Index of the answer's equivalence class within the problem; null if there is no answer. */
	class: v.nullable(whole),
	/** Whether the completion finished. */
	final: v.boolean(),
	tokens: v.number(),
	/** Scores from the scorers that select among samples, in the order strategies list them. */
	scores: v.optional(v.array(v.nullable(v.number()))),
});
export type SampleResult = v.InferOutput<typeof sampleResultSchema>;

/** A line of `results.jsonl`: one finished search. If a search has two lines, the later one counts. */
export const comparisonResultSchema = v.object({
	point: text,
	problem: whole,
	/** Whether the chosen answer is correct. */
	correct,
	answer: v.nullable(v.string()),
	/** Whether any final answer in the search is correct, chosen or not. */
	any: correct,
	value: v.optional(v.nullable(v.number()), null),
	/** Reward of the chosen episode; null if it has none. Absent in comparisons without an environment. */
	reward: v.optional(v.nullable(v.number())),
	stop: v.picklist(stopReasons),
	tokens: v.number(),
	promptTokens: v.optional(v.nullable(v.number()), null),
	nodes: v.number(),
	simulations: v.optional(v.number(), 0),
	seconds: v.number(),
	cost: v.optional(v.nullable(v.number()), null),
	/** Set if the policy or a scorer failed. Such a result does not count, and the search is retried. */
	failed: v.optional(v.string()),
	/** Present for the points `samples` and `bands`. */
	samples: v.optional(v.array(sampleResultSchema)),
});
export type ComparisonResult = v.InferOutput<typeof comparisonResultSchema>;

/** A mean over problems, with its 95% confidence interval. */
export const intervalSchema = v.object({ mean: v.number(), low: v.number(), high: v.number() });
export type Interval = v.InferOutput<typeof intervalSchema>;

export const pointSummarySchema = v.object({
	/** Point id, as in `results.jsonl`. */
	id: v.string(),
	/** Index of the strategy in the specification; null for the baseline. */
	strategy: v.nullable(whole),
	/** Display name of the strategy, and a label that distinguishes its points. */
	name: v.string(),
	label: v.string(),
	/** Whether one of its scorers sees the gold answer. If so, this is an upper bound rather than a result. */
	oracle: v.boolean(),
	/** Whether the point is computed from the independent samples rather than from separate searches. */
	shared: v.boolean(),
	/** Numbers of problems that count, that failed, and that have no gold answer. */
	problems: whole,
	failed: whole,
	unjudged: whole,
	accuracy: v.nullable(intervalSchema),
	/** Paired gain over the mean of the independent samples on the same problems; null for the baseline itself. */
	gain: v.nullable(intervalSchema),
	/** Fraction of problems for which at least one final answer is correct: an upper bound. */
	any: v.nullable(v.number()),
	/** Means per problem. */
	tokens: v.nullable(v.number()),
	nodes: v.nullable(v.number()),
	/** Measured with as many concurrent searches as the specification sets; null if not measured. */
	seconds: v.nullable(v.number()),
	cost: v.nullable(v.number()),
	stops: v.record(v.string(), v.number()),
	/** Results per difficulty band, easiest first. */
	bands: v.array(v.object({ problems: whole, accuracy: v.nullable(intervalSchema), gain: v.nullable(intervalSchema) })),
	/** Location of this point's trees within the folder, if they can be opened. */
	trees: v.nullable(v.string()),
});
export type PointSummary = v.InferOutput<typeof pointSummarySchema>;

export const curveSchema = v.object({
	/**
	 * `pass`: at least one of k samples is correct (an upper bound); `cons`: the majority answer of k samples is correct.
	 */
	measure: v.picklist(['pass', 'cons']),
	/** null for all problems. */
	band: v.nullable(whole),
	points: v.array(v.object({ k: whole, ...intervalSchema.entries })),
});
export type Curve = v.InferOutput<typeof curveSchema>;

/** `summary.json` */
export const comparisonSummarySchema = v.object({
	format: v.number(),
	name: v.string(),
	policy: v.string(),
	/** Name of the environment in which episodes were played; absent if there is none. */
	environment: v.optional(v.string()),
	/** Progress: number of finished searches, and the total. */
	done: whole,
	total: whole,
	state: v.picklist(['running', 'ended', 'stopped', 'failed']),
	/** Why the comparison failed or stopped. */
	message: v.nullable(v.string()),
	/** Number of `done` searches without a result because the policy or a scorer failed; they are retried. */
	failed: v.optional(whole, 0),
	/** Failure reasons, most frequent first. */
	failures: v.optional(v.array(v.object({ message: v.string(), count: whole })), []),
	problems: whole,
	/** Number of independent samples per problem that the baseline averages over. */
	samples: whole,
	seconds: v.number(),
	/** Total over all searches. */
	tokens: v.number(),
	bands: v.array(
		v.object({
			problems: whole,
			/** Range of the policy's success rate on the band's problems, estimated from samples used only for this. */
			low: v.number(),
			high: v.number(),
			mean: v.number(),
		}),
	),
	points: v.array(pointSummarySchema),
	curves: v.array(curveSchema),
});
export type ComparisonSummary = v.InferOutput<typeof comparisonSummarySchema>;
