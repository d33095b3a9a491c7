import * as v from 'valibot';
import { recordedTextSchema } from './rolloutLine.ts';

/** Schema of evaluations/step_N/<name>.json. */
export const evaluationSummarySchema = v.looseObject({
	name: v.string(),
	step: v.number(),
	problems: v.number(),
	samples: v.number(),
	temperature: v.number(),
	/** Mean over problems of the mean over samples, with a 95% confidence interval. */
	accuracy: v.number(),
	low: v.number(),
	high: v.number(),
});
export type EvaluationSummary = v.InferOutput<typeof evaluationSummarySchema>;

/** Schema of a line in evaluations/step_N/<name>.jsonl, with one line per sample. */
export const evaluationLineSchema = v.looseObject({
	problem: v.number(),
	sample: v.number(),
	prompt: recordedTextSchema,
	completion: recordedTextSchema,
	answer: v.optional(v.unknown()),
	correct: v.boolean(),
	/** null if not recorded. */
	truncated: v.nullable(v.boolean()),
	/**
	 * `episode`: the episode that produced the completion, see `rolloutEpisodeSchema`. `thoughts`: the latent thoughts
	 * before the completion, see `ThoughtLine`.
	 */
	extra: v.optional(v.record(v.string(), v.unknown())),
});
export type EvaluationLine = v.InferOutput<typeof evaluationLineSchema>;

/** A latent thought, as decoded by the model's output head. */
export interface ThoughtLine {
	/** Most likely tokens in descending order, with log-probabilities in nats. */
	readonly top: readonly { readonly text: string; readonly logprob: number }[];
}
