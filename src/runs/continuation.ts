import { Failure } from '../base/failure.ts';
import type { ControlClient } from '../rpc/controlClient.ts';

export interface ContinuationRequest {
	/** Recorded prompt, as sent to the policy. */
	readonly prompt: string;
	/** Start of a completion to continue; empty to generate from scratch. */
	readonly prefix: string;
	/** Maximum number of new tokens. */
	readonly maxTokens: number;
	/** 0 always picks the most probable token. */
	readonly temperature: number;
	readonly topP?: number;
	readonly seed: number;
}

export interface ContinuationEnd {
	/** Everything that was added after the prefix. */
	readonly text: string;
	/** Whether the policy finished; false if the token limit or the context length stopped the generation. */
	readonly ended: boolean;
}

/**
 * Number of tokens in the first request and in the largest request, chosen so that output starts quickly and long text
 * needs few requests.
 */
const shortest = 16;
const longest = 256;

/**
 * Lets a policy continue a prefix in chunks, so that the text appears while it is generated and a training run waiting
 * for the policy can proceed between chunks. The chunks are the policy's own samples: each one continues all previous
 * text, with a separate random stream. Fails with `invalid` if the prefix cannot be tokenized or does not fit in the
 * context.
 * @param onText receives the text added since the last call
 */
export async function continueText(
	client: ControlClient,
	{ prompt, prefix, maxTokens, temperature, topP = 1, seed }: ContinuationRequest,
	onText: (text: string) => void,
	signal?: AbortSignal,
): Promise<ContinuationEnd> {
	if (!client.engine.capabilities.includes('policy/generate')) {
		throw new Failure(
			'unsupported',
			'This engine does not serve completions.',
			'Serve a checkpoint from the run instead.',
		);
	}
	let text = '';
	let left = maxTokens;
	for (let portion = 0, size = shortest; left > 0; portion++, size = Math.min(longest, size * 2)) {
		const asked = Math.min(size, left);
		const { completions } = await client.request(
			'policy/generate',
			{
				prompts: [prompt + prefix + text],
				maxTokens: asked,
				temperature,
				topP,
				seed: (seed + portion * 0x9e3779b1) % 2 ** 31,
				logprobs: true,
			},
			signal,
		);
		const completion = completions[0]?.[0];
		if (completion === undefined) throw new Failure('internal', 'The engine returned no completion.');
		text += completion.text;
		if (completion.text !== '') onText(completion.text);
		if (!completion.truncated) return { text, ended: true };
		const made = completion.tokens?.text.length ?? asked;
		left -= made;
		// Fewer tokens than requested means that the context is full.
		if (made < asked) break;
	}
	return { text, ended: false };
}
