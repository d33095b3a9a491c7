import { randomBytes } from 'node:crypto';
import { Failure } from '../../base/failure.ts';
import type { GenerateRequest } from '../../core/search/policy.ts';
import type { ChatToolCall } from '../../protocol/scorer.ts';
import { contextOverflow } from '../contextOverflow.ts';
import type { ToolReply, ToolRequest } from '../openedPolicy.ts';
import type { OpenAiAbilities } from './abilities.ts';
import { ChoiceDraft } from './choiceDraft.ts';
import { wholeSeed } from './conversation.ts';
import { type AskableServer, type OpenAiServer, Refused, type ReplyListener } from './openAiServer.ts';
import { type Reply, type ReplyToolCall, toolCallsOf, type Usage } from './replyParts.ts';
import { bodyOf, type OpenAiSpec, pathOf } from './requestBody.ts';
import { contextRefusal } from './serverContext.ts';

/** Maximum number of calls per response. Matches OpenAI's limit on tools. */
const maxCalls = 128;

/**
 * Requests a response from a model, offering it tools. Streams if the server supports it, so that long reasoning does
 * not count as a stall. Falls back to a non-streaming request for servers that stream text but not tool calls
 * (llama-cpp-python). Fails with `unsupported` if the server rejects the tools, with `ContextOverflow`, or with any
 * error from `OpenAiServer.ask`.
 */
export async function askWithTools(
	server: OpenAiServer,
	spec: OpenAiSpec,
	abilities: OpenAiAbilities,
	request: ToolRequest,
	signal: AbortSignal,
): Promise<ToolReply> {
	try {
		if (abilities.stream !== 'no') {
			try {
				return await ask(server.once, spec, abilities, request, signal);
			} catch (error) {
				const { reason } = Failure.from(error);
				if (reason === 'cancelled' || reason === 'denied' || contextRefusal(error) !== null) throw error;
			}
		}
		return await ask(server, spec, { ...abilities, stream: 'no' }, request, signal);
	} catch (error) {
		const refused = contextRefusal(error);
		if (refused !== null) throw contextOverflow(spec.name, refused.promptTokens, refused.context);
		if (!(error instanceof Refused) || error.reason === 'denied') throw error;
		throw new Failure('unsupported', `A request with tools failed: ${error.message}`, 'Remove "tools".');
	}
}

async function ask(
	server: AskableServer,
	spec: OpenAiSpec,
	abilities: OpenAiAbilities,
	request: ToolRequest,
	signal: AbortSignal,
): Promise<ToolReply> {
	const { messages, temperature, topP, maxTokens, seed, tools, choice, parallel, think } = request;
	const generate: GenerateRequest = {
		messages,
		prefix: '',
		n: 1,
		temperature,
		topP,
		maxTokens,
		stop: [],
		seed: wholeSeed(seed),
		tokens: 0,
	};
	const body = {
		...bodyOf(
			spec,
			{ ...abilities, logprobs: null },
			{
				request: generate,
				prefix: '',
				n: 1,
				seed: generate.seed,
				maxTokens,
				stops: [],
				stream: abilities.stream !== 'no',
			},
		),
		tools,
		tool_choice: choice,
		...(parallel === null ? {} : { parallel_tool_calls: parallel }),
	};
	const { redactor } = server;
	const draft = new ToolDraft(
		() => new ChoiceDraft(generate, think, '', { unreported: false, echoed: '', redactor }),
		(text) => redactor.text(text),
	);
	const end = await server.ask(pathOf(spec), body, draft, signal);
	return draft.reply(
		end.broken ?? (end.said ? null : new Failure('unavailable', `${server.origin} ended its response early.`)),
	);
}

interface CallDraft {
	id: string;
	name: string;
	arguments: string;
}

/** Accumulates a response with tool calls. */
class ToolDraft implements ReplyListener {
	readonly #make: () => ChoiceDraft;
	readonly #clean: (text: string) => string;
	#text: ChoiceDraft;
	#calls = new Map<number, CallDraft>();
	#usage: Usage | null = null;

	/** @param clean removes secrets that were split across parts */
	constructor(make: () => ChoiceDraft, clean: (text: string) => string) {
		this.#make = make;
		this.#clean = clean;
		this.#text = make();
	}

	begin(): void {
		this.#text = this.#make();
		this.#calls = new Map();
		this.#usage = null;
	}

	get done(): boolean {
		return this.#text.done;
	}

	part({ choices, usage }: Reply): boolean {
		this.#usage = usage ?? this.#usage;
		const choice = choices.find(({ index }) => index === 0);
		if (choice === undefined) return false;
		const calls = toolCallsOf(choice);
		for (const [place, call] of calls.entries()) this.#add(call, place);
		return this.#text.add(choice) || calls.length > 0;
	}

	#add({ index, id, function: said }: ReplyToolCall, place: number): void {
		const at = index ?? place;
		let call = this.#calls.get(at);
		if (call === undefined) {
			if (this.#calls.size >= maxCalls)
				throw new Failure('invalid', `The server sent more than ${maxCalls} tool calls.`);
			call = { id: '', name: '', arguments: '' };
			this.#calls.set(at, call);
		}
		call.id ||= id ?? '';
		call.name ||= said?.name ?? '';
		const given = said?.arguments ?? '';
		call.arguments += typeof given === 'string' ? given : JSON.stringify(given);
	}

	/**
	 * @param broken why the response is incomplete, or null if it is complete. An incomplete response is rejected,
	 * because a partial call must not be executed
	 */
	reply(broken: Failure | null): ToolReply {
		if (broken !== null && !this.#text.finished) throw broken;
		const drafts = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
		if (drafts.some(({ name }) => name === ''))
			throw new Failure('invalid', 'The server sent a tool call without a name.');
		const calls = drafts.map(
			({ id, name, arguments: given }): ChatToolCall => ({
				id: id === '' ? `call_${randomBytes(12).toString('hex')}` : this.#clean(id),
				type: 'function',
				function: { name: this.#clean(name), arguments: this.#clean(given) },
			}),
		);
		const { completion_tokens: counted = null, prompt_tokens: given = null } = this.#usage ?? {};
		const written = calls.reduce((sum, call) => sum + call.function.name.length + call.function.arguments.length, 0);
		const tokens = counted ?? this.#text.tokens + Math.ceil(written / 4);
		return { calls, generation: this.#text.generation(tokens, given) };
	}
}
