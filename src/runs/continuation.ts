import { Failure } from '../base/failure.ts';
import type { ControlClient } from '../rpc/controlClient.ts';

export interface ContinuationRequest {
	/** As it was recorded: what the policy was given. */
	readonly prompt: string;
	/** The beginning of a completion to continue from; empty: from the start. */
	readonly prefix: string;
	/** New tokens at most. */
	readonly maxTokens: number;
	/** 0: the most probable token each time. */
	readonly temperature: number;
	readonly topP?: number;
	readonly seed: number;
}

export interface ContinuationEnd {
	/** All that was added to the prefix. */
	readonly text: string;
	/** The policy finished; false: the limit of tokens, or of its context, did. */
	readonly ended: boolean;
}

/** Tokens of the first request and of the longest: the first words come soon, and long texts cost few requests. */
const shortest = 16;
const longest = 256;

/**
 * Lets a policy continue from a beginning, in portions, so that what it writes is seen while it writes and training that waits
 * for it continues in between. The portions are the policy's own samples: each continues from all before it, with a random
 * stream of its own. Fails with `invalid` when the beginning cannot be put in tokens or does not fit the context.
 * @param onText what was added since the last call
 */
export async function continueText(
	client: ControlClient,
	{ prompt, prefix, maxTokens, temperature, topP = 1, seed }: ContinuationRequest,
	onText: (text: string) => void,
	signal?: AbortSignal,
): Promise<ContinuationEnd> {
	if (!client.engine.capabilities.includes('policy/generate')) {
		throw new Failure('unsupported', 'This engine does not serve completions.', 'Serve a checkpoint of the run.');
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
		// Fewer than it may: its context is full.
		if (made < asked) break;
	}
	return { text, ended: false };
}
