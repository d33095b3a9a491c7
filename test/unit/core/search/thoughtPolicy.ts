import type { Failure } from '../../../../src/base/failure.ts';
import type {
	GenerateRequest,
	Generation,
	Policy,
	PolicyCapabilities,
	TokenDetail,
} from '../../../../src/core/search/policy.ts';
import type { SearchOptions } from '../../../../src/core/search/searchRun.ts';

export type Reply = string | (Partial<Generation> & { readonly text: string });

export interface ThoughtPolicy extends Policy {
	readonly requests: GenerateRequest[];
}

const capable: PolicyCapabilities = {
	logprobs: true,
	alternatives: 5,
	distribution: true,
	prefix: true,
	seed: true,
	instructions: true,
	score: false,
	heads: [],
};

/**
 * A policy whose replies are computed by a function of the request and the generation's index, and cut to the request's
 * limits.
 */
export function thoughtPolicy(
	say: (request: GenerateRequest, index: number) => Reply | Failure,
	capabilities: Partial<PolicyCapabilities> = {},
): ThoughtPolicy {
	const requests: GenerateRequest[] = [];
	return {
		name: 'scripted',
		capabilities: { ...capable, ...capabilities },
		requests,
		async generate(batch) {
			await null;
			requests.push(...batch);
			return batch.map((request) => {
				const said = Array.from({ length: request.n }, (_, i) => say(request, i));
				const failed = said.find((one) => one instanceof Error);
				return failed ?? said.map((one) => generation(one as Reply, request));
			});
		},
	};
}

/** Splits a text into words, each with its leading whitespace. */
export const words = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];

function generation(reply: Reply, { stop, maxTokens }: GenerateRequest): Generation {
	const given = typeof reply === 'string' ? { text: reply } : reply;
	let { text } = given;
	let finish: Generation['finish'] = given.finish ?? 'end';
	let stopText: string | undefined;
	const ends = stop.map((one) => ({ one, at: text.indexOf(one) })).filter(({ at }) => at >= 0);
	const first = ends.sort((a, b) => a.at - b.at)[0];
	if (first !== undefined) {
		text = text.slice(0, first.at);
		finish = 'stop';
		stopText = first.one;
	}
	let tokens = words(text);
	if (tokens.length > maxTokens) {
		tokens = tokens.slice(0, maxTokens);
		text = tokens.join('');
		finish = 'length';
		stopText = undefined;
	}
	return {
		promptTokens: 1,
		logprob: -tokens.length,
		detail: null,
		...given,
		tokens: Math.min(maxTokens, given.tokens ?? tokens.length + (finish === 'length' ? 0 : 1)),
		text,
		finish,
		...(stopText === undefined ? {} : { stopText }),
	};
}

/** Returns token details with alternatives for some tokens; the others are certain. */
export function detailOf(
	text: readonly string[],
	top: Readonly<Record<number, readonly (readonly [string, number])[]>> = {},
): TokenDetail {
	const tops = text.map((token, i) => (top[i] ?? [[token, 0.99]]).map(([word, p]) => [word, Math.log(p)] as const));
	return {
		text: [...text],
		logprob: text.map((token, i) => tops[i]?.find(([word]) => word === token)?.[1] ?? Math.log(0.01)),
		top: tops,
	};
}

/** Returns the last message's content. */
export const asked = ({ messages }: GenerateRequest): string => messages.at(-1)?.content ?? '';

/** Uses a clock that is always 0, because no part of a search may depend on it. */
export const base = { now: () => 0, concurrency: 1 } satisfies Partial<SearchOptions>;

export const problem = (prompt: string, answer: string | null = null) => ({ prompt, answer, row: {} });
