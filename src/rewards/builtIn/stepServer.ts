import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { JsonServer } from './jsonServer.ts';

/** Scores the steps of a completion's thinking section. */
export interface StepScorer {
	/** Returns one score per step, in order. */
	score(question: string, steps: readonly string[], signal: AbortSignal): Promise<readonly number[]>;
	dispose(): void;
}

const stepsReply = v.looseObject({ scores: v.array(v.pipe(v.number(), v.finite())) });
const number = v.pipe(v.number(), v.finite());
const poolingReply = v.looseObject({
	data: v.pipe(
		v.array(v.looseObject({ data: v.array(v.union([number, v.pipe(v.array(number), v.minLength(1))])) })),
		v.minLength(1),
	),
});

/** Sends `{question, steps}` and expects `{scores}`. */
async function askSteps(
	server: JsonServer,
	url: string,
	question: string,
	steps: readonly string[],
	signal: AbortSignal,
) {
	const reply = v.safeParse(stepsReply, await server.post(url, { question, steps }, signal));
	if (!reply.success) throw new Failure('invalid', `${url} did not return {"scores": [...]}.`, 'Fix "url".');
	return reply.output.scores;
}

/**
 * Uses vLLM's /pooling with a model that returns one row per step (pooling type STEP). The steps form the assistant
 * message, each followed by the separator. If there are several classes, the last one is the positive class.
 */
async function askPooling(
	server: JsonServer,
	entry: RewardEntry<'process'>,
	question: string,
	steps: readonly string[],
	signal: AbortSignal,
) {
	const url = `${entry.url?.replace(/\/+$/, '')}/pooling`;
	const content = steps.map((step) => `${step}${entry.separator}`).join('');
	const messages = [
		{ role: 'user', content: question },
		{ role: 'assistant', content },
	];
	const body = { model: entry.modelName, messages, add_generation_prompt: false, encoding_format: 'float' };
	const reply = v.safeParse(poolingReply, await server.post(url, body, signal));
	if (!reply.success)
		throw new Failure('invalid', `${url} did not return a response in the format of vLLM's /pooling.`, 'Fix "url".');
	const rows = reply.output.data[0]?.data ?? [];
	return rows.map((row) => (typeof row === 'number' ? row : (row.at(-1) as number)));
}

/** Returns a scorer that sends steps to a server. See docs/rewards.md for the request formats. */
export function stepServer(entry: RewardEntry<'process'>, server: JsonServer): StepScorer {
	const url = entry.url as string;
	return {
		async score(question, steps, signal) {
			const scores =
				entry.api === 'pooling'
					? await askPooling(server, entry, question, steps, signal)
					: await askSteps(server, url, question, steps, signal);
			if (scores.length === steps.length) return scores;
			throw new Failure(
				'invalid',
				`${url} returned ${scores.length} scores for ${steps.length} steps.`,
				entry.api === 'pooling'
					? 'Fix "separator": the model produces a score at its own step tag.'
					: 'Fix the server.',
			);
		},
		dispose() {},
	};
}
