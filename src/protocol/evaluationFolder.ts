import * as v from 'valibot';
import { policySpecSchema } from './policySpec.ts';
import { answeredPerturbations } from './recipeKeys/pipelineRecipe.ts';
import { rolloutEpisodeSchema } from './rolloutEpisode.ts';
import { samplingSpecSchema, scorerSpecSchema, searchEnvironmentSchema, searchSpecSchema } from './searchSpec.ts';
import { problemsSpecSchema } from './strategyComparison.ts';

/*
 * A policy evaluation is stored in a folder. `evaluation.json` describes the policy and the questions, `samples.jsonl`
 * has one line per completed question with all of its completions, and `report.json` contains the results. See
 * docs/evaluation.md.
 */

export const evaluationFormat = 1;

export const evaluationFiles = {
	evaluation: 'evaluation.json',
	samples: 'samples.jsonl',
	report: 'report.json',
	contamination: 'contamination.json',
	lock: 'evaluation.lock',
} as const;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

export const evaluationSpecSchema = v.object({
	name: v.pipe(v.string(), v.minLength(1)),
	policy: policySpecSchema,
	problems: problemsSpecSchema,
	/** Number of completions per question. */
	samples: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)), 1),
	sampling: v.optional(samplingSpecSchema, {}),
	/** Column with the question's category; null if there is none. */
	category: v.optional(v.nullable(v.string()), null),
	/** Scorer for the samples, required for best-of-k results. */
	judge: v.optional(scorerSpecSchema),
	/** Plays an episode in this environment for each sample. A sample is correct if it gets the maximum reward. */
	environment: v.optional(searchEnvironmentSchema),
	/** Perturbs the thinking of every completion, then has the policy answer again. */
	perturb: v.optional(v.picklist(answeredPerturbations)),
	/** Tags around thinking and answer. Default: the policy's own tags. */
	tags: searchSpecSchema.entries.tags,
	/** Maximum number of questions evaluated concurrently. */
	concurrency: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)), 16),
	seed: v.optional(whole, 0),
});
export type EvaluationSpec = v.InferOutput<typeof evaluationSpecSchema>;

export const evaluationFileSchema = v.looseObject({
	format: v.number(),
	spec: evaluationSpecSchema,
	/** Seconds since the epoch. */
	created: v.number(),
	/** Display name and number of questions. */
	problems: v.object({ name: v.string(), count: whole, hash: v.string() }),
	/** Evaluated policy. `model` is the policy's name for the model, or a run and step. */
	policy: v.object({ name: v.string(), model: v.string() }),
});
export type EvaluationFile = v.InferOutput<typeof evaluationFileSchema>;

/** A line in samples.jsonl: a question with all of its completions. */
export const evaluatedQuestionSchema = v.looseObject({
	problem: whole,
	/** Question key. Identical questions have the same key, even in different datasets. */
	key: v.string(),
	prompt: v.string(),
	answer: v.nullable(v.string()),
	category: v.nullable(v.string()),
	samples: v.array(
		v.looseObject({
			completion: v.string(),
			answer: v.nullable(v.string()),
			correct: v.boolean(),
			/** In a perturbed completion, counts only tokens generated after the perturbed thinking. */
			tokens: v.number(),
			/** null if not recorded. */
			truncated: v.nullable(v.boolean()),
			/** Log-probability of all tokens, in nats; absent or null if the policy does not report it. */
			logprob: v.optional(v.nullable(v.number())),
			/** Value from the judge; absent or null if there is none. */
			score: v.optional(v.nullable(v.number())),
			/** Whether the thinking was perturbed; absent if the evaluation perturbs none. */
			perturbed: v.optional(v.boolean()),
			/** Episode that produced the completion, if the evaluation has an environment; its reward is the score. */
			episode: v.optional(rolloutEpisodeSchema),
		}),
	),
});
export type EvaluatedQuestion = v.InferOutput<typeof evaluatedQuestionSchema>;

/** Schema of contamination.json, which describes overlaps between training files and the questions. */
export const contaminationFileSchema = v.looseObject({
	format: v.literal(1),
	/** Number of questions searched for, and number of questions too short to search for. */
	questions: whole,
	tooShort: whole,
	files: v.array(
		v.looseObject({
			/** File name without its folder. */
			name: v.string(),
			rows: whole,
			/** Number of rows that overlap with a question. */
			overlapping: whole,
			/** First overlap: its 1-based line, and the sequence of words shared by both. */
			first: v.nullable(v.object({ line: whole, words: v.string() })),
		}),
	),
});
export type ContaminationFile = v.InferOutput<typeof contaminationFileSchema>;
