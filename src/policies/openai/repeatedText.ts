import { Failure } from '../../base/failure.ts';
import type { ReplyListener } from './openAiServer.ts';
import { type ReplyToken, tokensOf, type Usage } from './replyParts.ts';

/** A text that a server has repeated, token by token. */
export interface RepeatedText {
	/** Those of the text; the first may begin before it, the last end after it. */
	readonly tokens: readonly PlacedToken[];
	/** Those of what the server wrote after it. */
	readonly more: readonly PlacedToken[];
	readonly finish: string | null;
	readonly usage: Usage | null;
}

export interface PlacedToken extends ReplyToken {
	/** Where it begins, in characters of the text. */
	readonly at: number;
}

/** The reply to a request with `echo` and `logprobs`, while it comes in. */
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

	/** Fails with `unsupported` where the server has not repeated the text. @param name of the policy */
	of(text: string, name: string): RepeatedText {
		const repeated = this.#tokens.map((token) => token.text).join('');
		// Special tokens may come before it.
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
