import { Failure } from '../../base/failure.ts';
import type { GenerateRequest } from '../../core/search/policy.ts';
import { contextOverflow } from '../contextOverflow.ts';

/** Maximum number of alternatives an engine returns per token. */
export const maxAlternatives = 20;

/** Generations from one request that are sent to the engine together. */
export interface Part {
	/** Index of the request. */
	readonly of: number;
	readonly request: GenerateRequest;
	readonly n: number;
	readonly seed: number;
}

/** Parameters that must be the same for all prompts in an engine request. */
export function sharedOf({ temperature, topP, stop, tokens }: GenerateRequest) {
	const alternatives = tokens > 1 ? Math.min(tokens, maxAlternatives) : 0;
	return { temperature, topP, stop: [...stop], logprobs: tokens > 0, alternatives };
}

/** Splits the parts, in order, into batches of at most `rows` completions. */
export function batchesOf(parts: readonly Part[], rows: number): Part[][] {
	const batches: Part[][] = [];
	let left = 0;
	for (const part of parts) {
		if (part.n > left) {
			batches.push([]);
			left = rows;
		}
		batches.at(-1)?.push(part);
		left -= part.n;
	}
	return batches;
}

export function wholeSeed(seed: number): number {
	return Math.abs(Math.trunc(seed)) % 2 ** 31;
}

export function named(failure: Failure, policy: string): Failure {
	const context = failure.context ?? contextIn(failure.message);
	if (context !== null) return contextOverflow(policy, null, context);
	return new Failure(failure.reason, `${policy}: ${failure.message}`, failure.action, { cause: failure });
}

/** Parses the context length from an error message. Engines up to version 0.2 report it only there. */
function contextIn(message: string): number | null {
	const found = /(?:exceeds|does not fit(?: into)?) the context of (\d+) tokens/.exec(message);
	return found === null ? null : Number(found[1]);
}
