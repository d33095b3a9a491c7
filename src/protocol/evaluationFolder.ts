import * as v from 'valibot';
import { policySpecSchema } from './policySpec.ts';
import { samplingSpecSchema, scorerSpecSchema, searchSpecSchema } from './searchSpec.ts';
import { problemsSpecSchema } from './strategyComparison.ts';

/*
 * An evaluation of a policy is a folder: `evaluation.json` says of what on what, `samples.jsonl` has one line for each
 * question that is done, with all of its completions, and `report.json` what follows from them. See docs/evaluation.md.
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
	/** Completions of each question. */
	samples: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)), 1),
	sampling: v.optional(samplingSpecSchema, {}),
	/** Column that names the kind of a question; null: none does. */
	category: v.optional(v.nullable(v.string()), null),
	/** Values samples, so that the best of k by it can be told. */
	judge: v.optional(scorerSpecSchema),
	/** Around thinking and answer; default: the policy's own. */
	tags: searchSpecSchema.entries.tags,
	/** Questions under way at a time. */
	concurrency: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)), 16),
	seed: v.optional(whole, 0),
});
export type EvaluationSpec = v.InferOutput<typeof evaluationSpecSchema>;

export const evaluationFileSchema = v.looseObject({
	format: v.number(),
	spec: evaluationSpecSchema,
	/** Seconds since the epoch. */
	created: v.number(),
	/** What people call the questions, and how many there are. */
	problems: v.object({ name: v.string(), count: whole, hash: v.string() }),
	/** What answered: the policy's name of the model, a run and a step. */
	policy: v.object({ name: v.string(), model: v.string() }),
});
export type EvaluationFile = v.InferOutput<typeof evaluationFileSchema>;

/** One line of samples.jsonl: a question with all of its completions. */
export const evaluatedQuestionSchema = v.looseObject({
	problem: whole,
	/** The same for the same question, whatever data it came from. */
	key: v.string(),
	prompt: v.string(),
	answer: v.nullable(v.string()),
	category: v.nullable(v.string()),
	samples: v.array(
		v.looseObject({
			completion: v.string(),
			answer: v.nullable(v.string()),
			correct: v.boolean(),
			tokens: v.number(),
			/** null: not recorded. */
			truncated: v.nullable(v.boolean()),
			/** Of all its tokens, nats; absent or null: the policy does not tell. */
			logprob: v.optional(v.nullable(v.number())),
			/** The judge's value; absent or null: there is none. */
			score: v.optional(v.nullable(v.number())),
		}),
	),
});
export type EvaluatedQuestion = v.InferOutput<typeof evaluatedQuestionSchema>;

/** contamination.json: what training files give away of the questions. */
export const contaminationFileSchema = v.looseObject({
	format: v.literal(1),
	/** Questions that were looked for, and those too short for that. */
	questions: whole,
	tooShort: whole,
	files: v.array(
		v.looseObject({
			/** Without its folder. */
			name: v.string(),
			rows: whole,
			/** Rows that overlap with a question. */
			overlapping: whole,
			/** Of the first one: its line, from 1, and the words that both have in a row. */
			first: v.nullable(v.object({ line: whole, words: v.string() })),
		}),
	),
});
export type ContaminationFile = v.InferOutput<typeof contaminationFileSchema>;
