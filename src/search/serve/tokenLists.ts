import type { Solution } from './reasoner.ts';

/** Tokens with their log-probabilities in nats; a log-probability is null if the policy did not report it. */
export interface Tokens {
	readonly text: readonly string[];
	readonly logprob: readonly (number | null)[];
	readonly top?: readonly (readonly (readonly [text: string, logprob: number])[])[] | undefined;
}

/** Returns a solution's tokens that make up the returned text, without the end-of-sequence token, which has no text. */
export function tokensUpTo(detail: Solution['detail'], length: number): Tokens {
	const text: string[] = [];
	const logprob: (number | null)[] = [];
	const top: (readonly (readonly [string, number])[])[] = [];
	let at = 0;
	for (const [i, token] of (detail?.text ?? []).entries()) {
		if (at >= length) break;
		if (token === '') continue;
		text.push(token);
		logprob.push(detail?.logprob[i] ?? null);
		top.push(detail?.top?.[i] ?? []);
		at += token.length;
	}
	return { text, logprob, top };
}

/**
 * Formats token data as in `/v1/completions`.
 * @param offset position of the first token in the text of the choice, in characters
 */
export function completionLogprobs({ text, logprob, top }: Tokens, alternatives: number, offset = 0) {
	let at = offset;
	return {
		tokens: [...text],
		token_logprobs: [...logprob],
		top_logprobs:
			alternatives === 0
				? null
				: text.map((token, i) => {
						const own = logprob[i] ?? null;
						if (own === null && (top?.[i] ?? []).length === 0) return null;
						// The chosen token is always included, as in OpenAI's API.
						return Object.fromEntries([
							...(own === null ? [] : [[token, own] as const]),
							...(top?.[i] ?? []).slice(0, alternatives),
						]);
					}),
		text_offset: text.map((token) => {
			at += token.length;
			return at - token.length;
		}),
	};
}

/** Formats token data as in `/v1/chat/completions`. */
export function chatLogprobs({ text, logprob, top }: Tokens, alternatives: number) {
	const one = (token: string, value: number | null) => ({
		token,
		logprob: value,
		bytes: [...new TextEncoder().encode(token)],
	});
	return {
		content: text.map((token, i) => ({
			...one(token, logprob[i] ?? null),
			top_logprobs: (top?.[i] ?? []).slice(0, alternatives).map(([other, value]) => one(other, value)),
		})),
		refusal: null,
	};
}
