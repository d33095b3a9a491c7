import { type Template, templateTags } from './template.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Tokens that open latent thoughts, replace each thought, and close them (Hao et al. 2024, section 3). */
export const latentTags = ['<bot>', '<latent>', '<eot>'] as const;

/** All tags that are single tokens: those of the template, followed by those for latent thoughts. */
export function vocabularyTags(template: Template): string[] {
	return [...templateTags(template), ...(template.latent ?? [])];
}

/** Slots for latent thoughts in a prompt. */
export interface LatentPlaces {
	/** Number of thoughts. */
	readonly count: number;
	/** Ids of `latentTags`. */
	readonly marks: readonly [start: number, thought: number, end: number];
}

/** Returns slots for `count` thoughts, for a tokenizer with `latentTags`. */
export function latentPlaces(tokenizer: Tokenizer, count: number): LatentPlaces {
	return { count, marks: tokenizer.encode(latentTags.join('')) as [number, number, number] };
}

/**
 * Inserts slots for latent thoughts between the prompt and its completion. If the tokens include the beginning of a
 * completion, it starts with a think tag. Prompts contain none.
 * @param tokens bos and the prompt, optionally with the beginning of a completion
 */
export function withThoughts(
	tokenizer: Tokenizer,
	tokens: readonly number[],
	{ count, marks }: LatentPlaces,
): number[] {
	const [start, thought, end] = marks;
	const think = tokenizer.tags[0] === undefined ? -1 : tokenizer.symbols.indexOf(tokenizer.tags[0]);
	const found = tokens.indexOf(think);
	const place = found < 0 ? tokens.length : found;
	const thoughts = new Array<number>(count).fill(thought);
	return [...tokens.slice(0, place), start, ...thoughts, end, ...tokens.slice(place)];
}

/** Returns the index of the start token in tokens with slots for thoughts, or -1 if they have none. */
export function findThoughts(tokens: ArrayLike<number>, { count, marks: [start, thought, end] }: LatentPlaces): number {
	for (let at = 0; at + count + 1 < tokens.length; at++) {
		if (tokens[at] !== start || tokens[at + count + 1] !== end) continue;
		let all = true;
		for (let t = 1; t <= count; t++) all &&= tokens[at + t] === thought;
		if (all) return at;
	}
	return -1;
}
