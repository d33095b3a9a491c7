import type { Transcript } from './transcript.ts';

export interface TokenTotals {
	readonly prompt: number;
	readonly completion: number;
	/** prompt + completion: what was paid for, as each call reads its whole context again. */
	readonly total: number;
	readonly cached: number;
	readonly reasoning: number;
	/** Answers of the model with a count, and all of them. */
	readonly counted: number;
	readonly answers: number;
}

/** Sums over the calls of the model. */
export function tokenTotals({ messages }: Transcript): TokenTotals {
	let [prompt, completion, cached, reasoning, counted, answers] = [0, 0, 0, 0, 0, 0];
	for (const { role, usage } of messages) {
		if (role === 'assistant') answers++;
		if (usage === null) continue;
		counted++;
		prompt += usage.prompt;
		completion += usage.completion;
		cached += usage.cached ?? 0;
		reasoning += usage.reasoning ?? 0;
	}
	return { prompt, completion, total: prompt + completion, cached, reasoning, counted, answers };
}

/** The context at one call of the model. */
export interface ContextPoint {
	readonly message: number;
	/** Tokens. */
	readonly prompt: number;
	readonly completion: number;
	/** Tokens that came since the call before: negative when the context was cut. */
	readonly added: number;
}

/** How the context grows, one point for each call of the model that tells its tokens. */
export function contextPoints({ messages }: Transcript): ContextPoint[] {
	const points: ContextPoint[] = [];
	for (const { index, usage } of messages) {
		if (usage === null) continue;
		const before = points.at(-1);
		points.push({
			message: index,
			prompt: usage.prompt,
			completion: usage.completion,
			added: usage.prompt - (before?.prompt ?? 0),
		});
	}
	return points;
}
