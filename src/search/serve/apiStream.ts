import type { TraceTags } from '../../core/trace/trace.ts';
import { answerOf, cutAtStop, finishReason, type ReplyFacts, type Solved, searchOf, usageOf } from './apiReply.ts';
import type { ApiRequest } from './apiRequest.ts';
import { type ReplyPart, ReplySplitter } from './replySplitter.ts';
import { chatLogprobs, completionLogprobs, tokensUpTo } from './tokenLists.ts';

const noTags: TraceTags = { think: null, answer: null };

/**
 * Produces the chunks for one choice: its text, incrementally or all at once, followed by the finish reason and the
 * search. It tracks the text sent so far. If the result starts with that text, only the rest is sent.
 */
export class ChoiceStream {
	readonly #facts: ReplyFacts;
	readonly #request: ApiRequest;
	readonly #index: number;
	readonly #splitter: ReplySplitter;
	/** Text that the client has so far: its own prefix and everything sent since. */
	#said: string;
	#started = false;

	constructor(facts: ReplyFacts, request: ApiRequest, index: number, tags: TraceTags) {
		this.#facts = facts;
		this.#request = request;
		this.#index = index;
		// A completion is returned verbatim.
		this.#splitter = new ReplySplitter(request.kind === 'chat' ? tags : noTags, request.stop, request.kind !== 'chat');
		this.#said = request.prefill;
		if (request.prefill !== '') this.#splitter.begin(request.prefill);
	}

	/** Sends text that was added to the completion. */
	text(more: string): object[] {
		this.#said += more;
		return this.#chunks(this.#splitter.push(more));
	}

	/** Returns whether a completion continues the text sent so far. */
	follows(completion: string): boolean {
		return completion.startsWith(this.#said);
	}

	/** Sends the rest of the completion and the finish reason. */
	end(solved: Solved): object[] {
		const { solution } = solved;
		const rest = this.follows(solution.completion) ? solution.completion.slice(this.#said.length) : '';
		const chunks = this.#chunks([...this.#splitter.push(rest), ...this.#splitter.end()]);
		const finish_reason = finishReason(solved, this.#splitter.stopped);
		const search = searchOf(solved, this.#request);
		const { alternatives, kind, stop } = this.#request;
		// All token data is sent at the end, because only then is it known which tokens belong to the result.
		const length =
			kind === 'chat' ? Number.POSITIVE_INFINITY : cutAtStop(answerOf(solution, this.#request), stop).text.length;
		const tokens = tokensUpTo(solution.detail, length);
		const logprobs =
			alternatives === null
				? {}
				: { logprobs: kind === 'chat' ? chatLogprobs(tokens, alternatives) : completionLogprobs(tokens, alternatives) };
		// Each call is sent whole, because the policy's entire reply had to be read to identify it as a tool call.
		const calls = solved.calls.map((call, index) =>
			this.#chunk({ tool_calls: [{ index, ...call }] }, { finish_reason: null }),
		);
		return [...chunks, ...this.#opening(), ...calls, this.#chunk({}, { finish_reason, ...logprobs, search })];
	}

	#chunks(parts: readonly ReplyPart[]): object[] {
		if (parts.length === 0) return [];
		return [
			...this.#opening(),
			...parts.map(({ kind, text }) =>
				this.#chunk(kind === 'reasoning' ? { reasoning_content: text } : { content: text }, { finish_reason: null }),
			),
		];
	}

	/** The first chunk of a chat contains the role. */
	#opening(): object[] {
		if (this.#started || this.#request.kind !== 'chat') return [];
		this.#started = true;
		return [this.#chunk({ role: 'assistant', content: '' }, { finish_reason: null })];
	}

	#chunk(delta: { readonly content?: string; readonly [key: string]: unknown }, more: object): object {
		const chat = this.#request.kind === 'chat';
		const said = chat ? { delta } : { text: delta.content ?? '' };
		return {
			...this.#facts,
			object: chat ? 'chat.completion.chunk' : 'text_completion',
			choices: [{ index: this.#index, ...said, logprobs: null, ...more }],
			...(this.#request.usageInStream ? { usage: null } : {}),
		};
	}
}

/** Returns the final chunk, if requested: the total usage of all searches. */
export function usageChunk(facts: ReplyFacts, request: ApiRequest, solved: readonly Solved[]): object {
	const object = request.kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
	return { ...facts, object, choices: [], usage: usageOf(solved) };
}
