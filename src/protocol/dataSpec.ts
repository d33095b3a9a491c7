import * as v from 'valibot';
import { searchSpecSchema } from './searchSpec.ts';
import { problemsSpecSchema } from './strategyComparison.ts';

/*
 * Search training data is stored in a folder. `data.json` describes how it is generated, `progress.jsonl` lists
 * completed problems along with the length of each file at that time, and each export is a JSON Lines file. See
 * docs/data-generation.md.
 */

export const dataFormat = 1;

const count = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(max));

/**
 * - `solutions`: solutions found, step by step, with their rewards; `sft`: as supervised fine-tuning examples
 * - `journey`: the tree as a single chain of thought, including dead ends; `dpo`: better and worse siblings
 * - `step-labels`, `math-shepherd`, `soft-labels`: steps labeled by sampling completions from them, in three formats
 */
export const dataExports = [
	'solutions',
	'sft',
	'journey',
	'dpo',
	'step-labels',
	'math-shepherd',
	'soft-labels',
] as const;
export type DataExport = (typeof dataExports)[number];
export const labelExports: readonly DataExport[] = ['step-labels', 'math-shepherd', 'soft-labels'];

/** Which solutions of a search to keep: the chosen one, all correct ones, or all of them. */
export const keptSolutions = ['best', 'correct', 'all'] as const;
export type KeptSolutions = (typeof keptSolutions)[number];

export const dataSpecSchema = v.object({
	problems: problemsSpecSchema,
	search: searchSpecSchema,
	exports: v.optional(v.pipe(v.array(v.picklist(dataExports)), v.minLength(1)), ['solutions']),
	/** Default: correct solutions if there is a gold answer, or else the search's choice. */
	keep: v.optional(v.picklist(keptSolutions)),
	/** Maximum number of solutions per problem. */
	most: v.optional(count(1024), 4),
	/** Minimum reward. */
	least: v.optional(v.number()),
	form: v.optional(v.picklist(['standard', 'conversational']), 'standard'),
	journey: v.optional(v.object({ trials: v.optional(count(64), 1), most: v.optional(count(64), 8) }), {}),
	pairs: v.optional(
		v.object({
			span: v.optional(v.picklist(['step', 'completion']), 'step'),
			/** Maximum number per node. */
			most: v.optional(count(64), 1),
			/** Minimum difference between the values. */
			margin: v.optional(v.pipe(v.number(), v.minValue(0)), 0),
		}),
		{},
	),
	labels: v.optional(
		v.object({
			/** Number of solutions per problem whose steps are labeled, and number of completions from each step. */
			solutions: v.optional(count(1000), 1),
			completions: v.optional(count(1000), 8),
			/**
			 * Minimum fraction of correct completions for a step to count as correct. If absent, one correct completion is
			 * enough.
			 */
			threshold: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
		}),
		{},
	),
	/** Whether to keep the logs of all searches. */
	trees: v.optional(v.boolean(), false),
	/** Maximum number of concurrent problems. */
	searches: v.optional(count(4096), 64),
});
export type DataSpec = v.InferOutput<typeof dataSpecSchema>;
export type DataSpecInput = v.InferInput<typeof dataSpecSchema>;

/** Contents of `data.json`. */
export const dataFileSchema = v.object({
	format: v.number(),
	spec: dataSpecSchema,
	/** Unix time in seconds. */
	created: v.number(),
});

/** A line in `solutions.jsonl`. */
export const solutionLineSchema = v.object({
	/** Problem key. Identical problems have the same key. */
	key: v.string(),
	prompt: v.string(),
	answer: v.nullable(v.string()),
	/** Steps that, when concatenated, form the solution. */
	steps: v.array(v.string()),
	solution: v.string(),
	/** Answer stated in the solution. */
	stated: v.nullable(v.string()),
	/** Value from the search's scorer. Without a scorer, 1 if correct and 0 if not. null if there is no value. */
	reward: v.nullable(v.number()),
	correct: v.nullable(v.boolean()),
	strategy: v.string(),
	/** Number of tokens generated in the whole search. */
	tokens: v.number(),
});
export type SolutionLine = v.InferOutput<typeof solutionLineSchema>;

/** A line in `progress.jsonl`: completed problems, and the length of the files including them. */
export const dataProgressSchema = v.object({
	done: v.array(
		v.object({
			key: v.string(),
			stop: v.string(),
			tokens: v.number(),
			/** Number of lines per export. */
			lines: v.record(v.string(), v.number()),
		}),
	),
	/** Number of bytes per export. */
	bytes: v.record(v.string(), v.number()),
});
export type DataProgress = v.InferOutput<typeof dataProgressSchema>;
