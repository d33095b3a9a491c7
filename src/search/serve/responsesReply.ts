import type { TraceTags } from '../../core/trace/trace.ts';
import type { ChatToolCall } from '../../protocol/scorer.ts';
import { answerOf, finishReason, type ReplyFacts, type Solved, searchOf, usageOf } from './apiReply.ts';
import type { ApiRequest } from './apiRequest.ts';
import { type ReplyPart, ReplySplitter, splitReply } from './replySplitter.ts';
import { callItems, type ItemStatus, responsesTools } from './toolUse.ts';

/** Builds the response for `/v1/responses`. */
export function responsesReply(facts: ReplyFacts, request: ApiRequest, solved: Solved, tags: TraceTags) {
	const { reasoning, content } = splitReply(answerOf(solved.solution, request), tags, [], request.prefill);
	const { prompt_tokens, completion_tokens, total_tokens } = usageOf([solved]);
	const reason = finishReason(solved, null);
	const incomplete = reason === 'length' ? 'max_output_tokens' : reason === 'content_filter' ? reason : null;
	const status = incomplete === null ? ('completed' as const) : ('incomplete' as const);
	return {
		...shellOf(facts, request),
		status,
		incomplete_details: incomplete === null ? null : { reason: incomplete },
		output: [
			...(reasoning === '' ? [] : [reasoningItem(facts, reasoning, 'completed')]),
			...(content === '' && solved.calls.length > 0 ? [] : [messageItem(facts, content, status)]),
			...callItems(solved.calls, facts.id, status),
		],
		usage: {
			input_tokens: prompt_tokens,
			input_tokens_details: { cached_tokens: 0 },
			output_tokens: completion_tokens,
			// Policies do not report how many of their tokens were reasoning tokens.
			output_tokens_details: { reasoning_tokens: null },
			total_tokens,
		},
		search: searchOf(solved, request),
	};
}

/** Returns the fields of a response that stay constant while it streams. */
function shellOf({ id, created, model }: ReplyFacts, { temperature, topP, maxTokens, schema, tools }: ApiRequest) {
	return {
		id,
		object: 'response' as const,
		created_at: created,
		model,
		error: null,
		instructions: null,
		max_output_tokens: maxTokens,
		metadata: {},
		previous_response_id: null,
		store: false,
		temperature,
		text: { format: schema === null ? { type: 'text' } : { type: 'json_schema', name: 'answer', schema } },
		...responsesTools(tools),
		top_p: topP,
		truncation: 'disabled',
	};
}

const idOf = (facts: ReplyFacts, kind: string) => `${kind}${facts.id.slice('resp'.length)}`;

const textPart = (text: string) => ({ type: 'output_text' as const, text, annotations: [], logprobs: [] });

function messageItem(facts: ReplyFacts, text: string | null, status: string) {
	const content = text === null ? [] : [textPart(text)];
	return { type: 'message' as const, id: idOf(facts, 'msg'), role: 'assistant' as const, status, content };
}

function reasoningItem(facts: ReplyFacts, text: string | null, status: string) {
	const content = text === null ? [] : [{ type: 'reasoning_text' as const, text }];
	return { type: 'reasoning' as const, id: idOf(facts, 'rs'), summary: [], status, content };
}

interface OpenItem {
	readonly kind: ReplyPart['kind'];
	readonly place: number;
	text: string;
}

/** Produces the events for a response: its reasoning and its text, incrementally or all at once. */
export class ResponseStream {
	readonly #facts: ReplyFacts;
	readonly #request: ApiRequest;
	readonly #tags: TraceTags;
	readonly #splitter: ReplySplitter;
	#said: string;
	#sequence = 0;
	/** Item being written, with its text so far. */
	#open: OpenItem | null = null;
	#places = 0;
	#started = false;

	constructor(facts: ReplyFacts, request: ApiRequest, tags: TraceTags) {
		this.#facts = facts;
		this.#request = request;
		this.#tags = tags;
		this.#splitter = new ReplySplitter(tags);
		this.#said = request.prefill;
		if (request.prefill !== '') this.#splitter.begin(request.prefill);
	}

	/** Sends text that was added to the completion. */
	text(more: string): object[] {
		this.#said += more;
		return this.#parts(this.#splitter.push(more));
	}

	/** Sends the rest of the completion and the full response. */
	end(solved: Solved): object[] {
		const { completion } = solved.solution;
		const rest = completion.startsWith(this.#said) ? completion.slice(this.#said.length) : '';
		const response = responsesReply(this.#facts, this.#request, solved, this.#tags);
		const events = this.#parts([...this.#splitter.push(rest), ...this.#splitter.end()]);
		// An answer without text is sent as an empty string.
		if (this.#open?.kind !== 'content' && solved.calls.length === 0) events.push(...this.#switch('content'));
		events.push(...this.#opening(), ...this.#close(), ...this.#calls(solved.calls, response.status));
		events.push(this.#event(`response.${response.status}`, { response }));
		return events;
	}

	#parts(parts: readonly ReplyPart[]): object[] {
		return parts.flatMap(({ kind, text }) => {
			const events = this.#open?.kind === kind ? [] : this.#switch(kind);
			const open = this.#open as OpenItem;
			open.text += text;
			const type = kind === 'content' ? 'response.output_text.delta' : 'response.reasoning_text.delta';
			return [
				...events,
				this.#event(type, { ...this.#place(open), delta: text, ...(kind === 'content' ? { logprobs: [] } : {}) }),
			];
		});
	}

	/** Ends the open item and starts another one. */
	#switch(kind: ReplyPart['kind']): object[] {
		const events = [...this.#opening(), ...this.#close()];
		const open = { kind, place: this.#places++, text: '' };
		this.#open = open;
		const item =
			kind === 'content'
				? messageItem(this.#facts, null, 'in_progress')
				: reasoningItem(this.#facts, null, 'in_progress');
		events.push(this.#event('response.output_item.added', { output_index: open.place, item }));
		events.push(this.#event('response.content_part.added', { ...this.#place(open), part: partOf(kind, '') }));
		return events;
	}

	#close(): object[] {
		const open = this.#open;
		if (open === null) return [];
		this.#open = null;
		const { kind, text, place } = open;
		const content = kind === 'content';
		const item = content ? messageItem(this.#facts, text, 'completed') : reasoningItem(this.#facts, text, 'completed');
		return [
			this.#event(content ? 'response.output_text.done' : 'response.reasoning_text.done', {
				...this.#place(open),
				text,
				...(content ? { logprobs: [] } : {}),
			}),
			this.#event('response.content_part.done', { ...this.#place(open), part: partOf(kind, text) }),
			this.#event('response.output_item.done', { output_index: place, item }),
		];
	}

	#calls(calls: readonly ChatToolCall[], status: ItemStatus): object[] {
		const { id } = this.#facts;
		return callItems(calls, id, status).flatMap((item) => {
			const at = { item_id: item.id, output_index: this.#places++ };
			const { arguments: given, name } = item;
			const added = { ...item, arguments: '', status: 'in_progress' };
			return [
				this.#event('response.output_item.added', { output_index: at.output_index, item: added }),
				this.#event('response.function_call_arguments.delta', { ...at, delta: given }),
				this.#event('response.function_call_arguments.done', { ...at, name, arguments: given }),
				this.#event('response.output_item.done', { output_index: at.output_index, item }),
			];
		});
	}

	#place({ kind, place }: { readonly kind: ReplyPart['kind']; readonly place: number }) {
		return { item_id: idOf(this.#facts, kind === 'content' ? 'msg' : 'rs'), output_index: place, content_index: 0 };
	}

	#opening(): object[] {
		if (this.#started) return [];
		this.#started = true;
		const response = {
			...shellOf(this.#facts, this.#request),
			status: 'in_progress',
			incomplete_details: null,
			output: [],
			usage: null,
		};
		return ['response.created', 'response.in_progress'].map((type) => this.#event(type, { response }));
	}

	#event(type: string, more: object): object {
		return { type, sequence_number: this.#sequence++, ...more };
	}
}

const partOf = (kind: ReplyPart['kind'], text: string) =>
	kind === 'content' ? textPart(text) : { type: 'reasoning_text' as const, text };
