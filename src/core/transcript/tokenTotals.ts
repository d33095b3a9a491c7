import type { Transcript } from './transcript.ts';

export interface TokenTotals {
	readonly prompt: number;
	readonly completion: number;
	/** Billed tokens: prompt + completion. Context sent with several calls counts once per call. */
	readonly total: number;
	readonly cached: number;
	readonly reasoning: number;
	/** Number of model answers with token counts, and total number of answers. */
	readonly counted: number;
	readonly answers: number;
}

/** Sums token counts over all model calls. */
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

/** Context size at a model call. */
export interface ContextPoint {
	readonly message: number;
	/** Number of prompt tokens. */
	readonly prompt: number;
	readonly completion: number;
	/** Tokens added since the previous call; negative if the context was truncated. */
	readonly added: number;
}

/** Returns the context growth, with one point per model call that has token counts. */
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
