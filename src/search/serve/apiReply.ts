import type { TraceTags } from '../../core/trace/trace.ts';
import type { ChatToolCall } from '../../protocol/scorer.ts';
import type { TreeEvent } from '../../protocol/treeLog.ts';
import type { ApiRequest } from './apiRequest.ts';
import type { Solution } from './reasoner.ts';
import { splitReply } from './replySplitter.ts';
import { chatLogprobs, completionLogprobs, tokensUpTo } from './tokenLists.ts';

/** Solutions to a request, one per choice, with logs if requested. */
export interface Solved {
	/** Result of the search. If tools were called, no search was run, and this is the text that accompanies the calls. */
	readonly solution: Solution;
	/** Tools that the policy calls instead of answering; usually empty. */
	readonly calls: readonly ChatToolCall[];
	/** Tokens spent on offering tools before a search; null if no tools were offered, or if the policy called one. */
	readonly offered: Pick<Solution, 'tokens' | 'promptTokens'> | null;
	readonly events: readonly TreeEvent[] | null;
}

export interface ReplyFacts {
	/** `chatcmpl-…` or `cmpl-…`. */
	readonly id: string;
	/** Unix time in seconds. */
	readonly created: number;
	readonly model: string;
}

/** Returns the finish reason for a choice in OpenAI's terms. */
export function finishReason(
	{ solution, calls }: Solved,
	stopped: string | null,
): 'stop' | 'length' | 'content_filter' | 'tool_calls' {
	if (stopped !== null && calls.length === 0) return 'stop';
	if (solution.finish === 'refusal') return 'content_filter';
	if (solution.finish === 'length') return 'length';
	if (calls.length > 0) return 'tool_calls';
	// The budget was exhausted before any completion finished.
	return solution.completion === '' && budgetStops.has(solution.stop) ? 'length' : 'stop';
}

const budgetStops: ReadonlySet<string> = new Set(['nodes', 'tokens', 'simulations', 'seconds', 'cost']);

/** Returns the total usage of all searches in the request. */
export function usageOf(solved: readonly Solved[]) {
	type Used = Pick<Solution, 'tokens' | 'promptTokens'>;
	const sum = (of: (used: Used) => number) =>
		solved.reduce((total, { solution, offered }) => total + of(solution) + (offered === null ? 0 : of(offered)), 0);
	const prompt_tokens = sum(({ promptTokens }) => promptTokens ?? 0);
	const completion_tokens = sum(({ tokens }) => tokens);
	return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Returns the completion without the prefix provided by the client. */
export function answerOf(solution: Solution, { prefill }: Pick<ApiRequest, 'prefill'>): string {
	return solution.completion.startsWith(prefill) ? solution.completion.slice(prefill.length) : solution.completion;
}

/** Returns the `search` object for a choice, or null if there was no search. */
export function searchOf({ solution, calls, events }: Solved, request: ApiRequest) {
	if (calls.length > 0) return null;
	const { strategy, params, stop, answer, value, nodes, tokens, promptTokens, simulations, seconds, cost } = solution;
	return {
		strategy,
		params,
		seed: solution.seed,
		stop,
		answer,
		value,
		nodes,
		tokens,
		prompt_tokens: promptTokens,
		simulations,
		seconds,
		cost,
		...(solution.message === null ? {} : { message: solution.message }),
		...(request.search.return === 'path' ? { path: solution.path } : {}),
		...(events === null ? {} : { events }),
	};
}

/** Builds a chat message; `reasoning_content` is omitted if there is no thinking. */
function messageOf(reasoning: string, content: string, calls: readonly ChatToolCall[]) {
	return {
		role: 'assistant' as const,
		content: content === '' && calls.length > 0 ? null : content,
		refusal: null,
		...(calls.length === 0 ? {} : { tool_calls: calls }),
		...(reasoning === '' ? {} : { reasoning_content: reasoning }),
	};
}

export function chatReply(facts: ReplyFacts, request: ApiRequest, solved: readonly Solved[], tags: TraceTags) {
	return {
		...facts,
		object: 'chat.completion' as const,
		choices: solved.map((one, index) => {
			const { reasoning, content, stopped } = splitReply(
				answerOf(one.solution, request),
				tags,
				request.stop,
				request.prefill,
			);
			return {
				index,
				message: messageOf(reasoning, content, one.calls),
				logprobs:
					request.alternatives === null
						? null
						: chatLogprobs(tokensUpTo(one.solution.detail, Number.POSITIVE_INFINITY), request.alternatives),
				finish_reason: finishReason(one, stopped),
				search: searchOf(one, request),
			};
		}),
		usage: usageOf(solved),
	};
}

/** @param prompts prompt text for each choice */
export function completionReply(
	facts: ReplyFacts,
	request: ApiRequest,
	solved: readonly Solved[],
	prompts: readonly string[],
) {
	return {
		...facts,
		object: 'text_completion' as const,
		choices: solved.map((one, index) => {
			const { text, stopped } = cutAtStop(answerOf(one.solution, request), request.stop);
			const before = request.echo ? (prompts[index] ?? '') : '';
			return {
				index,
				text: before + text,
				logprobs:
					request.alternatives === null
						? null
						: completionLogprobs(tokensUpTo(one.solution.detail, text.length), request.alternatives, before.length),
				finish_reason: finishReason(one, stopped),
				search: searchOf(one, request),
			};
		}),
		usage: usageOf(solved),
	};
}

/** Truncates text at the first stop sequence. */
export function cutAtStop(
	text: string,
	stop: readonly string[],
): { readonly text: string; readonly stopped: string | null } {
	let end = text.length;
	let stopped: string | null = null;
	for (const one of stop) {
		const at = text.indexOf(one);
		if (at >= 0 && at < end) {
			end = at;
			stopped = one;
		}
	}
	return { text: text.slice(0, end), stopped };
}
