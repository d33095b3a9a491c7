import { Failure } from '../../base/failure.ts';
import type { GenerateRequest, Generation, PolicyText, TokenDetail } from '../../core/search/policy.ts';
import { contextOverflow } from '../contextOverflow.ts';
import type { ReadRequest, ReadText } from '../openedPolicy.ts';
import type { OpenAiAbilities } from './abilities.ts';
import { ChoiceDraft } from './choiceDraft.ts';
import type { AskableServer, ReplyEnd, ReplyListener } from './openAiServer.ts';
import { type PlacedToken, RepeatedReply } from './repeatedText.ts';
import type { Reply, Usage } from './replyParts.ts';
import { bodyOf, inputOf, type OpenAiSpec, pathOf } from './requestBody.ts';
import { contextRefusal } from './serverContext.ts';

/** Result of one request. */
export interface Exchange {
	/** Generations received. There may be fewer than requested if the server does not support `n`. */
	readonly generations: readonly Generation[];
	/** Why some generations are incomplete, or null if all are complete. */
	readonly broken: Failure | null;
	/** Whether the response was streamed. */
	readonly streamed: boolean;
	/** Whether the server reported token counts. */
	readonly counted: boolean;
	/** Whether reasoning was returned separately. */
	readonly reasoned: boolean;
	/** Whether the server reported the stop string that ended the text. */
	readonly matchedStop: boolean;
}

export interface AskOptions {
	readonly signal: AbortSignal;
	/** Default: the request's `n` if the server supports it, otherwise 1. */
	readonly n?: number;
	/** Overrides the request's seed. */
	readonly seed?: number;
	readonly prefix?: string;
	readonly maxTokens?: number;
	/** Sends stop strings even if the server does not report them. Default: only if it reports them or cannot stream. */
	readonly sendStops?: boolean;
	readonly think?: readonly [open: string, close: string];
	/** Receives text as it arrives. */
	readonly onText?: (index: number, text: string) => void;
}

const thinkTags = ['<think>', '</think>'] as const;

/** Sends search requests to a model on a server, one at a time, using the parameters that the server accepts. */
export class Conversation {
	readonly #server: AskableServer;
	readonly #spec: OpenAiSpec;
	readonly #abilities: OpenAiAbilities;

	constructor(server: AskableServer, spec: OpenAiSpec, abilities: OpenAiAbilities) {
		this.#server = server;
		this.#spec = spec;
		this.#abilities = abilities;
	}

	/**
	 * Fails with the same errors as `OpenAiServer.ask`, or with `ContextOverflow`. If a request exceeds the context
	 * length, retries with as many tokens as fit.
	 */
	async ask(request: GenerateRequest, options: AskOptions): Promise<Exchange> {
		const maxTokens = options.maxTokens ?? request.maxTokens;
		try {
			return await this.#ask(request, options, maxTokens);
		} catch (error) {
			const refused = contextRefusal(error);
			if (refused === null) throw error;
			if (refused.room !== null && refused.room > 0 && refused.room < maxTokens) {
				return this.#ask(request, options, refused.room);
			}
			throw contextOverflow(this.#spec.name, refused.promptTokens, refused.context);
		}
	}

	async #ask(request: GenerateRequest, options: AskOptions, maxTokens: number): Promise<Exchange> {
		const { signal, onText, think = thinkTags, prefix = request.prefix } = options;
		const { stream, stops, many, prefix: style, echoesPrefix } = this.#abilities;
		const n = options.n ?? (many ? request.n : 1);
		const streams = stream !== 'no';
		// If the server does not report stop strings, watch the stream for them and close it at the first match.
		const sent = options.sendStops === true || stops === 'told' || stops === 'kept' || (stops === 'untold' && !streams);
		const given = style === null ? '' : prefix;
		const echoed = echoesPrefix ? given : '';
		const replies = new Replies(
			n,
			() =>
				new ChoiceDraft({ ...request, maxTokens }, think, given, {
					unreported: sent && stops === 'untold',
					echoed,
					redactor: this.#server.redactor,
				}),
			onText,
		);
		const body = bodyOf(this.#spec, this.#abilities, {
			request,
			prefix: given,
			n,
			seed: wholeSeed(options.seed ?? request.seed),
			maxTokens,
			stops: sent ? request.stop.filter((stop) => stop !== '') : [],
			stream: streams,
		});
		const end = await this.#server.ask(pathOf(this.#spec), body, replies, signal);
		return replies.exchange(end, this.#server.origin, echoed);
	}

	/** Returns the log-probability of each completion token, in nats. Requires a server that can echo its input. */
	async score({ messages, completion }: PolicyText, signal: AbortSignal): Promise<number[]> {
		const { prompt } = inputOf(this.#spec, messages, '', null) as { prompt: string };
		const reply = new RepeatedReply();
		const { lengthField } = this.#abilities;
		const body = {
			...this.#spec.extra,
			model: this.#spec.model,
			prompt: `${prompt}${completion}`,
			echo: true,
			logprobs: 1,
			[lengthField]: 1,
		};
		await this.#server.ask(pathOf(this.#spec), body, reply, signal);
		// A token that spans the end of the prompt and the start of the completion belongs to the completion.
		const own = reply
			.of(`${prompt}${completion}`, this.#spec.name)
			.tokens.filter(({ at, text }) => at + text.length > prompt.length);
		if (own.some(({ logprob }) => logprob === null)) throw unreported(this.#spec.name);
		return own.map(({ logprob }) => logprob as number);
	}

	/** Reads verbatim text token by token, along with a continuation. Requires a server that can echo its input. */
	async read(
		{ text, alternatives, maxTokens, temperature, topP, stop, seed }: ReadRequest,
		signal: AbortSignal,
	): Promise<ReadText> {
		const { lengthField, logprobs, refusesSeed } = this.#abilities;
		const { name, model, extra } = this.#spec;
		const reply = new RepeatedReply();
		const body = {
			...extra,
			model,
			prompt: text,
			echo: true,
			logprobs: Math.max(1, Math.min(alternatives, logprobs ?? 1)),
			// Some servers reject 0. Unrequested tokens are dropped below.
			[lengthField]: Math.max(1, maxTokens),
			temperature,
			...(topP === 1 ? {} : { top_p: topP }),
			...(stop.length === 0 ? {} : { stop }),
			...(refusesSeed ? {} : { seed: wholeSeed(seed) }),
		};
		await this.#server.ask(pathOf(this.#spec), body, reply, signal);
		const { tokens, more, finish, usage } = reply.of(text, name);
		// The first token has no context, so it has no log-probability.
		if (tokens.slice(1).some(({ logprob }) => logprob === null)) throw unreported(name);
		const written = more.map((token) => token.text).join('');
		return {
			tokens: detailOf(tokens, alternatives),
			more:
				maxTokens === 0
					? null
					: {
							text: written,
							finish: finish === 'length' ? 'length' : finish === 'content_filter' ? 'refusal' : 'end',
							tokens: usage?.completion_tokens ?? more.length,
							promptTokens: usage?.prompt_tokens ?? null,
							logprob: more.reduce<number | null>(
								(sum, { logprob }) => (sum === null || logprob === null ? null : sum + logprob),
								0,
							),
							detail: detailOf(more, alternatives),
						},
		};
	}
}

const unreported = (name: string) => new Failure('invalid', `${name} does not return prompt log-probabilities.`);

function detailOf(tokens: readonly PlacedToken[], alternatives: number): TokenDetail {
	return {
		text: tokens.map(({ text }) => text),
		logprob: tokens.map(({ logprob }) => logprob),
		...(alternatives === 0 ? {} : { top: tokens.map(({ top }) => top.slice(0, alternatives)) }),
	};
}

/** Accumulates the choices of one response. */
class Replies implements ReplyListener {
	readonly #n: number;
	readonly #make: () => ChoiceDraft;
	readonly #onText: ((index: number, text: string) => void) | undefined;
	#drafts: ChoiceDraft[] = [];
	#usage: Usage | null = null;
	#parts = 0;
	#matchedStop = false;

	constructor(n: number, make: () => ChoiceDraft, onText: ((index: number, text: string) => void) | undefined) {
		this.#n = n;
		this.#make = make;
		this.#onText = onText;
	}

	begin(): void {
		this.#drafts = Array.from({ length: this.#n }, () => this.#make());
		this.#usage = null;
		this.#parts = 0;
	}

	get done(): boolean {
		return this.#drafts.every((draft) => draft.done);
	}

	part(reply: Reply): boolean {
		this.#parts++;
		let brought = false;
		if (reply.usage !== null && reply.usage !== undefined) this.#usage = reply.usage;
		for (const choice of reply.choices) {
			const draft = this.#drafts[choice.index];
			if (draft === undefined) continue;
			brought = draft.add(choice) || brought;
			this.#matchedStop ||= typeof (choice.stop_reason ?? choice.matched_stop) === 'string';
			const news = this.#onText === undefined ? '' : draft.news();
			if (news !== '') this.#onText?.(choice.index, news);
		}
		return brought;
	}

	/** @param echoed prefix that each text repeats before continuing */
	exchange(end: ReplyEnd, origin: string, echoed: string): Exchange {
		const began = this.#drafts.filter((draft) => draft.finished || draft.text !== '');
		const whole = end.broken === null && (end.said || began.every((draft) => draft.finished));
		const counts = this.#counts(began);
		const promptTokens = this.#usage?.prompt_tokens ?? null;
		return {
			// Count prompt tokens once per request.
			generations: began.map((draft, i) => {
				const made = draft.generation(counts[i] ?? null, i === 0 ? promptTokens : promptTokens === null ? null : 0);
				const text = made.text.startsWith(echoed) ? made.text.slice(echoed.length) : made.text;
				return end.said && !draft.finished ? { ...made, text, finish: 'end' } : { ...made, text };
			}),
			broken: whole ? null : (end.broken ?? new Failure('unavailable', `${origin} ended its response early.`)),
			streamed: this.#parts > 1,
			counted: this.#usage !== null,
			reasoned: began.some((draft) => draft.reasoned),
			matchedStop: this.#matchedStop,
		};
	}

	/** Splits the server's total token count among the choices. */
	#counts(drafts: readonly ChoiceDraft[]): (number | null)[] {
		const total = this.#usage?.completion_tokens ?? null;
		if (total === null) return drafts.map(() => null);
		if (drafts.length === 1) return [total];
		const sum = drafts.reduce((all, { tokens }) => all + tokens, 0);
		return drafts.map(({ tokens }) => (sum === 0 ? 0 : Math.round((total * tokens) / sum)));
	}
}

/** Returns a nonnegative integer seed, as servers require. */
export function wholeSeed(seed: number): number {
	return Math.abs(Math.trunc(seed)) % 2 ** 31;
}
