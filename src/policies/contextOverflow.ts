import { Failure } from '../base/failure.ts';
import type { Generated, GenerateRequest } from '../core/search/policy.ts';

/** Thrown when the input leaves no room for a completion. Only the affected request fails. */
export class ContextOverflow extends Failure {
	/** Context length in tokens, or null if the policy does not report it. */
	readonly context: number | null;

	constructor(message: string, context: number | null, cause?: unknown) {
		super(
			'invalid',
			message,
			'Use shorter steps, a smaller depth, or a policy with a longer context.',
			cause === undefined ? undefined : { cause },
		);
		this.context = context;
	}
}

export function contextOverflow(policy: string, tokens: number | null, context: number | null): ContextOverflow {
	const what = tokens === null ? 'Prompt as sent' : `The prompt of ${tokens} tokens`;
	const room = context === null ? 'its context' : `its context of ${context} tokens`;
	return new ContextOverflow(`${policy}: ${what} does not fit ${room}.`, context);
}

/**
 * Handles a request that does not fit into the context. A completion that was already started ends there with finish
 * reason `length`.
 */
export function endOfContext(overflow: ContextOverflow, { prefix }: GenerateRequest, n: number): Generated {
	if (prefix === '') return overflow;
	const nothing = { text: '', finish: 'length', tokens: 0, promptTokens: null, logprob: 0, detail: null } as const;
	return Array.from({ length: n }, () => nothing);
}
