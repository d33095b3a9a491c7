import type { Tokenizer } from '../../../core/text/tokenizer.ts';
import { eosToken } from '../../../core/text/tokenizer.ts';
import type { ControlResult, TokenLists } from '../../../protocol/control.ts';
import type { Sample, SpreadOfTokens, ThoughtReading } from '../learner.ts';

export type Completion = ControlResult<'policy/generate'>['completions'][number][number];

/**
 * Converts a sample for clients. Truncates the text at the first stop string and includes token details for that text.
 */
export function completionOf(
	sample: Sample,
	tokenizer: Tokenizer,
	stop: readonly string[],
	withTokens: boolean,
): Completion {
	const ids = sample.tokens.slice(sample.promptLength);
	const whole = tokenizer.decode(ids);
	const end = firstOf(whole, stop);
	const text = end === null ? whole : whole.slice(0, end.at);
	/** Number of tokens in the text. Without a stop string, includes the end-of-sequence token. */
	const length = end === null ? ids.length : tokensThat(ids, tokenizer, end.at);
	const generated = end === null ? ids.length : tokensThat(ids, tokenizer, end.at + end.text.length);
	let logprob = 0;
	for (let t = 0; t < generated; t++) logprob += sample.logprobs[t] as number;
	return {
		text,
		truncated: sample.truncated && end === null,
		finish: end !== null ? 'stop' : ids.at(-1) === eosToken ? 'end' : 'length',
		...(end === null ? {} : { stopText: end.text }),
		generated,
		logprob,
		...(withTokens ? { tokens: tokenLists(sample, ids, length, tokenizer) } : {}),
		...(withTokens && sample.thoughts !== undefined ? { thoughts: likelyTokens(sample.thoughts, tokenizer) } : {}),
	};
}

/** Returns the earliest stop string in the text, or the longest one if several match at that position. */
function firstOf(text: string, stop: readonly string[]): { readonly at: number; readonly text: string } | null {
	let first: { readonly at: number; readonly text: string } | null = null;
	for (const candidate of stop) {
		const at = text.indexOf(candidate);
		if (at < 0) continue;
		const better = first === null || at < first.at || (at === first.at && candidate.length > first.text.length);
		if (better) first = { at, text: candidate };
	}
	return first;
}

/** Returns the number of tokens needed to cover text of the given length. */
function tokensThat(ids: readonly number[], tokenizer: Tokenizer, characters: number): number {
	let count = 0;
	for (let seen = 0; count < ids.length && seen < characters; count++) {
		seen += tokenizer.decode([ids[count] as number]).length;
	}
	return count;
}

/** Returns the most likely tokens of each latent thought with their log-probabilities, in descending order. */
export function likelyTokens(
	{ count, tokens, logprobs }: ThoughtReading,
	{ symbols }: Tokenizer,
): [string, number][][] {
	const size = tokens.length / Math.max(1, count);
	return Array.from({ length: count }, (_, thought) =>
		Array.from(tokens.subarray(thought * size, (thought + 1) * size), (token, i): [string, number] => [
			symbols[token] ?? '',
			logprobs[thought * size + i] as number,
		]),
	);
}

function tokenLists(sample: Sample, ids: readonly number[], length: number, tokenizer: Tokenizer): TokenLists {
	const symbol = (id: number) => tokenizer.symbols[id] ?? '';
	const { spread } = sample;
	return {
		text: ids.slice(0, length).map(symbol),
		logprob: [...sample.logprobs.slice(0, length)],
		entropy: [...sample.entropies.slice(0, length)],
		...(spread === undefined
			? {}
			: {
					varentropy: [...spread.varentropies.slice(0, length)],
					gini: [...spread.ginis.slice(0, length)],
					variance: [...spread.variances.slice(0, length)],
					...(spread.alternatives === 0 ? {} : { top: topOf(spread, length, symbol) }),
				}),
	};
}

function topOf(spread: SpreadOfTokens, length: number, symbol: (id: number) => string): [string, number][][] {
	const { alternatives, topTokens, topLogprobs } = spread;
	return Array.from({ length }, (_, t) => {
		const top: [string, number][] = [];
		for (let k = t * alternatives; k < (t + 1) * alternatives; k++) {
			const id = topTokens[k] as number;
			// The vocabulary may have fewer tokens than requested, and probabilities may underflow.
			if (id >= 0 && Number.isFinite(topLogprobs[k])) top.push([symbol(id), topLogprobs[k] as number]);
		}
		return top;
	});
}
