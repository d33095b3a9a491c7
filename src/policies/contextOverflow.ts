import { Failure } from '../base/failure.ts';
import type { Generated, GenerateRequest } from '../core/search/policy.ts';

/** Thrown when the input leaves no room for a completion. Only the affected request fails. */
export class ContextOverflow extends Failure {
	/** @param context length in tokens, or null if the policy does not report it */
	constructor(message: string, context: number | null) {
		super('invalid', message, 'Use shorter steps, a lower depth, or a policy with a longer context.', {
			context: context ?? undefined,
		});
	}
}

export function contextOverflow(policy: string, tokens: number | null, context: number | null): ContextOverflow {
	const what = tokens === null ? 'the prompt' : `the ${tokens}-token prompt`;
	const room = context === null ? 'the context' : `the ${context}-token context`;
	return new ContextOverflow(`${policy}: ${what} does not fit in ${room}.`, context);
}

/**
 * Handles a request that does not fit in the context. A completion that has already started ends there with finish
 * reason `length`.
 */
export function endOfContext(overflow: ContextOverflow, { prefix }: GenerateRequest, n: number): Generated {
	if (prefix === '') return overflow;
	const nothing = { text: '', finish: 'length', tokens: 0, promptTokens: null, logprob: 0, detail: null } as const;
	return Array.from({ length: n }, () => nothing);
}
