import { eosToken } from '../../../../core/text/tokenizer.ts';
import type { Sample } from '../../learner.ts';

/** Ranges [start, end) of completion tokens. */
export type TokenRanges = readonly (readonly [start: number, end: number])[];

/**
 * An episode as a sequence: a prompt, then the policy's turns and the environment's answers. Answers are not trained
 * on.
 */
export class Conversation {
	readonly promptLength: number;
	readonly tokens: number[];
	readonly #logprobs: number[] = [];
	readonly #entropies: number[] = [];
	readonly #trained: number[] = [];

	constructor(promptTokens: readonly number[]) {
		this.tokens = [...promptTokens];
		this.promptLength = promptTokens.length;
	}

	/** Number of tokens after the prompt. */
	get length(): number {
		return this.tokens.length - this.promptLength;
	}

	/** Appends a turn sampled from the conversation so far. Returns its tokens, including end-of-sequence. */
	addSampled(sample: Sample): readonly number[] {
		const turn = sample.tokens.slice(sample.promptLength);
		for (const [t, token] of turn.entries()) {
			this.#add(token, sample.logprobs[t] as number, sample.entropies[t] as number, 1);
		}
		return turn;
	}

	/** Appends a turn that was not sampled. */
	addTurn(tokens: readonly number[]): void {
		for (const token of tokens) this.#add(token, 0, 0, 1);
	}

	/** Appends the environment's answer. */
	addAnswer(tokens: readonly number[]): void {
		for (const token of tokens) this.#add(token, 0, 0, 0);
	}

	/**
	 * Returns the conversation as a completion. Answers have log-probability and entropy 0. If the policy wrote nothing,
	 * the completion is an end-of-sequence token that is not trained on.
	 */
	sample(truncated: boolean): Sample & { readonly trained: Uint8Array } {
		if (this.length === 0) this.addAnswer([eosToken]);
		return {
			tokens: this.tokens,
			promptLength: this.promptLength,
			logprobs: Float32Array.from(this.#logprobs),
			entropies: Float32Array.from(this.#entropies),
			trained: Uint8Array.from(this.#trained),
			truncated,
		};
	}

	#add(token: number, logprob: number, entropy: number, trained: number): void {
		this.tokens.push(token);
		this.#logprobs.push(logprob);
		this.#entropies.push(entropy);
		this.#trained.push(trained);
	}
}

/** Returns the ranges of completion tokens that are not trained on. */
export function observedRanges(trained: Uint8Array): TokenRanges {
	const ranges: [number, number][] = [];
	for (const [t, one] of trained.entries()) {
		const last = ranges.at(-1);
		if (one === 1) continue;
		if (last?.[1] === t) last[1] = t + 1;
		else ranges.push([t, t + 1]);
	}
	return ranges;
}
