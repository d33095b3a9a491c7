import { Failure } from '../../base/failure.ts';
import type { ReplyListener } from './openAiServer.ts';
import { type ReplyToken, tokensOf, type Usage } from './replyParts.ts';

/** Text echoed by a server, token by token. */
export interface RepeatedText {
	/** Tokens of the text. The first may begin before the text, and the last may end after it. */
	readonly tokens: readonly PlacedToken[];
	/** Tokens generated after the text. */
	readonly more: readonly PlacedToken[];
	readonly finish: string | null;
	readonly usage: Usage | null;
}

export interface PlacedToken extends ReplyToken {
	/** Character offset within the text. */
	readonly at: number;
}

/** Accumulates the response to a request with `echo` and `logprobs`. */
export class RepeatedReply implements ReplyListener {
	readonly done = false;
	#tokens: ReplyToken[] = [];
	#finish: string | null = null;
	#usage: Usage | null = null;

	begin(): void {
		this.#tokens = [];
		this.#finish = null;
		this.#usage = null;
	}

	part({ choices, usage }: Parameters<ReplyListener['part']>[0]): boolean {
		for (const choice of choices) {
			this.#tokens.push(...tokensOf(choice));
			this.#finish = choice.finish_reason ?? this.#finish;
		}
		this.#usage = usage ?? this.#usage;
		return true;
	}

	/** Fails with `unsupported` if the server did not echo the text. @param name policy name */
	of(text: string, name: string): RepeatedText {
		const repeated = this.#tokens.map((token) => token.text).join('');
		// The text can be preceded by special tokens.
		const shift = repeated.indexOf(text);
		if (shift < 0) throw new Failure('unsupported', `${name} does not echo its prompt.`);
		let at = -shift;
		const placed = this.#tokens.map((token): PlacedToken => {
			const place = { ...token, at };
			at += token.text.length;
			return place;
		});
		return {
			tokens: placed.filter((token) => token.at + token.text.length > 0 && token.at < text.length),
			more: placed.filter((token) => token.at >= text.length),
			finish: this.#finish,
			usage: this.#usage,
		};
	}
}
