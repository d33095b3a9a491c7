import { Redactor } from '../../base/redactor.ts';
import { distributionStatistics } from '../../core/search/distribution.ts';
import type { GenerateRequest, Generation, TokenDetail } from '../../core/search/policy.ts';
import { type Choice, type ReplyToken, tokensOf } from './replyParts.ts';

type ThinkTags = readonly [open: string, close: string];

/** Maximum plausible number of characters per token. Longer text means that the server ignores `max_tokens`. */
const longestToken = 64;
const slack = 4096;

/** Accumulates the parts of one generation. */
export class ChoiceDraft {
	readonly #request: GenerateRequest;
	readonly #think: ThinkTags;
	readonly #stops: readonly string[];
	readonly #hold: number;
	readonly #most: number;
	readonly #echo: number;
	readonly #unreported: boolean;
	readonly #redactor: Redactor;
	/** Whether a secret was removed, so the tokens no longer match the text. */
	#redacted = false;
	#text = '';
	/** State of the thinking block, for reasoning returned separately from the answer. */
	#thinking: 'none' | 'open' | 'closed';
	#tokens: ReplyToken[] = [];
	#parts = 0;
	#finish: string | null = null;
	#refused = false;
	#matchedStop: string | null = null;
	#cut: { readonly at: number; readonly stop: string } | null = null;
	#overlong = false;
	#emitted: number;
	/** Whether reasoning was returned separately. */
	reasoned = false;

	/**
	 * @param prefix text that the server continues; its thinking block may be open
	 * @param server.untold whether stop strings were sent to a server that does not report which one ended the text
	 * @param server.echoed text that the server repeats before continuing
	 * @param server.redactor removes secrets that the server splits across parts
	 */
	constructor(
		request: GenerateRequest,
		think: ThinkTags,
		prefix: string,
		{
			unreported,
			echoed,
			redactor = new Redactor([]),
		}: { readonly unreported: boolean; readonly echoed: string; readonly redactor?: Redactor },
	) {
		this.#request = request;
		this.#think = think;
		this.#unreported = unreported;
		this.#redactor = redactor;
		this.#echo = echoed.length;
		this.#emitted = echoed.length;
		this.#stops = request.stop.filter((stop) => stop !== '');
		this.#hold = Math.max(0, ...this.#stops.map((stop) => stop.length - 1));
		this.#most = echoed.length + request.maxTokens * longestToken + slack;
		this.#thinking = prefix.lastIndexOf(think[0]) > prefix.lastIndexOf(think[1]) ? 'open' : 'none';
	}

	get text(): string {
		return this.#cut === null ? this.#text : this.#text.slice(0, this.#cut.at);
	}

	/** Whether the generation can no longer change. */
	get done(): boolean {
		return this.#cut !== null || this.#overlong;
	}

	/** Whether the server has reported the end. */
	get finished(): boolean {
		return this.done || this.#finish !== null;
	}

	/**
	 * Number of tokens so far: the reported count if available, otherwise the number of stream parts or, failing that, an
	 * estimate based on the length.
	 */
	get tokens(): number {
		if (this.#tokens.length > 0) return this.#tokens.length;
		return this.#parts > 1 ? this.#parts : Math.ceil(this.#text.length / 4);
	}

	/** @returns whether the choice added anything */
	add(choice: Choice): boolean {
		const message = choice.message ?? choice.delta;
		const reasoning = message?.reasoning_content || message?.reasoning || '';
		const content = message?.content ?? choice.text ?? '';
		const refusal = message?.refusal ?? '';
		const before = this.#text.length;
		if (!this.done) {
			if (reasoning !== '') this.#append('thinking', reasoning);
			if (content !== '') this.#append('answer', content);
			if (refusal !== '') {
				this.#refused = true;
				this.#append('answer', refusal);
			}
			this.#tokens.push(...tokensOf(choice));
		}
		if (this.#text.length > before) this.#parts++;
		if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') this.#finish = choice.finish_reason;
		const stop = choice.stop_reason ?? choice.matched_stop;
		if (typeof stop === 'string' && this.#stops.includes(stop)) this.#matchedStop = stop;
		return this.#text.length > before || this.#finish !== null;
	}

	/** Returns the new text that is safe to show, holding back any suffix that could begin a stop string or a secret. */
	news(): string {
		const held = Math.max(this.#hold, this.#redactor.pending(this.#text));
		const end = this.done || this.#finish !== null ? this.text.length : this.#text.length - held;
		if (end <= this.#emitted) return '';
		const news = this.#text.slice(this.#emitted, end);
		this.#emitted = end;
		return news;
	}

	/**
	 * @param tokens token count reported by the server, or null
	 * @param promptTokens prompt token count reported by the server, or null
	 */
	generation(tokens: number | null, promptTokens: number | null): Generation {
		const finish = this.#outcome();
		const stopText = finish === 'stop' ? (this.#cut?.stop ?? this.#matchedStop ?? this.#onlyStop()) : undefined;
		const reported = this.#redacted ? [] : this.#tokens;
		const { text } = this;
		return {
			text,
			finish,
			...(stopText === undefined ? {} : { stopText }),
			tokens: tokens ?? this.tokens,
			promptTokens,
			logprob:
				reported.length === 0 || reported.some(({ logprob }) => logprob === null)
					? null
					: reported.reduce((sum, { logprob }) => sum + (logprob as number), 0),
			detail:
				reported.length === 0 || this.#request.tokens === 0 ? null : detailOf(reported, text, this.#request.tokens),
		};
	}

	#onlyStop(): string | undefined {
		return this.#stops.length === 1 ? this.#stops[0] : undefined;
	}

	#outcome(): Generation['finish'] {
		if (this.#refused || this.#finish === 'content_filter') return 'refusal';
		if (this.#cut !== null || this.#matchedStop !== null) return 'stop';
		if (this.#overlong) return 'length';
		switch (this.#finish) {
			// No end reported: the connection was lost.
			case null:
			case 'length':
			case 'max_tokens':
				return 'length';
			case 'stop':
				// Ambiguous. Continuing from a stop string will resolve it.
				return this.#unreported && this.#stops.length > 0 ? 'stop' : 'end';
			default:
				return 'end';
		}
	}

	#append(where: 'thinking' | 'answer', text: string): void {
		const [open, close] = this.#think;
		const from = Math.max(this.#echo, this.#text.length - this.#hold);
		if (where === 'thinking') {
			this.reasoned = true;
			if (this.#thinking !== 'open') this.#text += open;
			this.#thinking = 'open';
		} else if (this.reasoned && this.#thinking === 'open') {
			this.#text += close;
			this.#thinking = 'closed';
		}
		const clean = this.#redactor.append(this.#text, text);
		this.#redacted ||= clean !== this.#text + text;
		this.#text = clean;
		for (const stop of this.#stops) {
			const at = this.#text.indexOf(stop, from);
			if (at >= 0 && (this.#cut === null || at < this.#cut.at)) this.#cut = { at, stop };
		}
		if (this.#cut === null && this.#text.length > this.#most) {
			this.#text = this.#text.slice(0, this.#most);
			this.#overlong = true;
		}
	}
}

/** Returns the tokens that begin within the text. Statistics only cover the reported alternatives. */
function detailOf(tokens: readonly ReplyToken[], text: string, wanted: number): TokenDetail {
	let length = 0;
	let count = 0;
	while (count < tokens.length && length < text.length) length += (tokens[count++] as ReplyToken).text.length;
	const kept = tokens.slice(0, count);
	const statistics = kept.map(({ text: own, logprob, top }) => {
		if (top.length < 2) return null;
		const all = logprob === null || top.some(([other]) => other === own) ? top : [...top, [own, logprob] as const];
		return distributionStatistics(all.map(([, one]) => Math.exp(one)));
	});
	const reported = statistics.some((one) => one !== null);
	return {
		text: kept.map((token) => token.text),
		logprob: kept.map(({ logprob }) => logprob),
		...(reported
			? {
					entropy: statistics.map((one) => one?.entropy ?? null),
					varentropy: statistics.map((one) => one?.varentropy ?? null),
					gini: statistics.map((one) => one?.gini ?? null),
					variance: statistics.map((one) => one?.variance ?? null),
					...(wanted > 1 ? { top: kept.map(({ top }) => top.slice(0, wanted)) } : {}),
					partial: true,
				}
			: {}),
	};
}
