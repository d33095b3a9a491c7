import type { ReadText } from '../../policies/openedPolicy.ts';
import type { ReplyFacts } from './apiReply.ts';
import type { ApiRequest } from './apiRequest.ts';
import { completionLogprobs, type Tokens } from './tokenLists.ts';

/** A scored prompt and the text generated after it. */
export interface ReadPrompt {
	/** Special tokens that the client put before the text; they have no text of their own. */
	readonly special: readonly string[];
	readonly read: ReadText;
}

/** Builds the response to a request with `echo` and `logprobs`: verbatim text, token by token, without a search. */
export function readReply(facts: ReplyFacts, request: ApiRequest, prompts: readonly ReadPrompt[]) {
	const prompt_tokens = prompts.reduce((sum, { special, read }) => sum + special.length + read.tokens.text.length, 0);
	const completion_tokens = prompts.reduce((sum, { read }) => sum + (read.more?.tokens ?? 0), 0);
	return {
		...facts,
		object: 'text_completion' as const,
		choices: prompts.map((prompt, index) => {
			const { more } = prompt.read;
			const tokens = joined(prompt);
			return {
				index,
				text: tokens.text.join(''),
				logprobs: completionLogprobs(tokens, request.alternatives ?? 0),
				finish_reason: more === null || more.finish === 'length' ? ('length' as const) : ('stop' as const),
				search: null,
			};
		}),
		usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
	};
}

function joined({ special, read: { tokens, more } }: ReadPrompt): Tokens {
	const before = special.map(() => null);
	// Clients skip the prompt by its token count, and expect one entry after it for each generated token.
	const after = more?.detail ?? null;
	return {
		text: [...special, ...tokens.text, ...(after?.text ?? [])],
		logprob: [...before, ...tokens.logprob, ...(after?.logprob ?? [])],
		top: [
			...special.map(() => []),
			...(tokens.top ?? tokens.text.map(() => [])),
			...(after?.top ?? (after?.text ?? []).map(() => [])),
		],
	};
}
