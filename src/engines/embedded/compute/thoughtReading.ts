import type { ThoughtReading } from '../learner.ts';
import type { LatentSequences } from './jobs.ts';
import { mostLikely } from './tokenRecord.ts';

/** Number of tokens recorded for each thought. */
export const thoughtAlternatives = 5;

/**
 * Returns the most likely tokens for each row's thoughts, in descending order, and their log-probabilities.
 * @param logits [rows, thoughts, vocabulary]; undefined without thoughts
 */
export function readThoughts(
	logits: Float32Array | undefined,
	{ rows, thoughts }: Pick<LatentSequences, 'rows' | 'thoughts'>,
	vocabulary: number,
): ThoughtReading[] {
	const count = Math.min(thoughtAlternatives, vocabulary);
	return Array.from({ length: rows }, (_, row) => {
		const tokens = new Int32Array(thoughts * count);
		const logprobs = new Float32Array(thoughts * count);
		for (let thought = 0; thought < thoughts; thought++) {
			const start = (row * thoughts + thought) * vocabulary;
			const own = Float64Array.from((logits as Float32Array).subarray(start, start + vocabulary));
			const top = mostLikely(own, count);
			const highest = own[top[0] as number] as number;
			const total = Math.log(own.reduce((sum, logit) => sum + Math.exp(logit - highest), 0));
			tokens.set(top, thought * count);
			logprobs.set(
				top.map((token) => (own[token] as number) - highest - total),
				thought * count,
			);
		}
		return { count: thoughts, tokens, logprobs };
	});
}
