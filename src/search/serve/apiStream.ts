import type { TraceTags } from '../../core/trace/trace.ts';
import { finishReason, type ReplyFacts, type Solved, searchOf, usageOf } from './apiReply.ts';
import type { ApiRequest } from './apiRequest.ts';
import { ReplySplitter } from './replySplitter.ts';

const noTags: TraceTags = { think: null, answer: null };

/**
 * The chunks of one choice: its text as it comes, or when it is there, and at its end why, with the search. What was said is
 * remembered, so that a result that begins with it adds what is missing, and nothing is said twice.
 */
export class ChoiceStream {
	readonly #facts: ReplyFacts;
	readonly #request: ApiRequest;
	readonly #index: number;
	readonly #splitter: ReplySplitter;
	#said = '';
	#begun = false;

	constructor(facts: ReplyFacts, request: ApiRequest, index: number, tags: TraceTags) {
		this.#facts = facts;
		this.#request = request;
		this.#index = index;
		// A completion is given as it stands.
		this.#splitter = new ReplySplitter(request.kind === 'chat' ? tags : noTags, request.stop, request.kind !== 'chat');
	}

	/** Text that was added to the completion. */
	text(more: string): object[] {
		this.#said += more;
		return this.#chunks(this.#splitter.push(more));
	}

	/** Whether a completion goes on from what was said. */
	follows(completion: string): boolean {
		return completion.startsWith(this.#said);
	}

	/** The rest of the completion, and why it ends. */
	end(solved: Solved): object[] {
		const { solution } = solved;
		const rest = this.follows(solution.completion) ? solution.completion.slice(this.#said.length) : '';
		const chunks = this.#chunks([...this.#splitter.push(rest), ...this.#splitter.end()]);
		const finish_reason = finishReason(solution, this.#splitter.stopped);
		const search = searchOf(solved, this.#request);
		return [...chunks, ...this.#opening(), this.#chunk({}, { finish_reason, search })];
	}

	#chunks(parts: readonly { readonly kind: 'reasoning' | 'content'; readonly text: string }[]): object[] {
		if (parts.length === 0) return [];
		return [
			...this.#opening(),
			...parts.map(({ kind, text }) =>
				this.#chunk(kind === 'reasoning' ? { reasoning_content: text } : { content: text }, { finish_reason: null }),
			),
		];
	}

	/** The first chunk of a chat says who speaks. */
	#opening(): object[] {
		if (this.#begun || this.#request.kind !== 'chat') return [];
		this.#begun = true;
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

/** The last chunk, where it was asked for: what all searches used. */
export function usageChunk(facts: ReplyFacts, request: ApiRequest, solved: readonly Solved[]): object {
	const object = request.kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
	return { ...facts, object, choices: [], usage: usageOf(solved) };
}
