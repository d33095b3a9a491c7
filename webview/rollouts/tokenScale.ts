import type { TokenColumns } from '../../src/protocol/rolloutsMessages.ts';
import { formatNumber } from '../lib/format.ts';
import type { TokenView } from './savedState.ts';

/** Levels of colour, 0 (nothing unusual) to this. */
export const highestLevel = 6;

/** Nats from one level to the next: of surprise, -log p, or of entropy. */
const levelNats = { logprob: 0.75, entropy: 0.4 } as const;

/** What the strongest colour stands for, in words. */
export function scaleEnd(view: Exclude<TokenView, 'off'>): string {
	const nats = formatNumber(levelNats[view] * highestLevel, 2);
	return view === 'logprob' ? `log-probability ≤ −${nats}` : `entropy ≥ ${nats} nats`;
}

/** How strongly a token is coloured. Null where the value was not recorded. */
export function tokenLevel(view: Exclude<TokenView, 'off'>, value: number | null | undefined): number | null {
	if (value === null || value === undefined) return null;
	const level = (view === 'logprob' ? -value : value) / levelNats[view];
	return Math.max(0, Math.min(highestLevel, Math.floor(level)));
}

/** What was recorded of one token, in words. */
export function tokenFacts(tokens: TokenColumns, i: number): string {
	const parts: string[] = [];
	const logprob = tokens.logprob[i] ?? null;
	if (logprob !== null)
		parts.push(`log-probability ${formatNumber(logprob, 3)} (p ${formatNumber(Math.exp(logprob), 3)})`);
	const old = tokens.oldLogprob?.[i] ?? null;
	if (old !== null) parts.push(`when sampled ${formatNumber(old, 3)}`);
	const reference = tokens.refLogprob?.[i] ?? null;
	if (reference !== null) parts.push(`reference ${formatNumber(reference, 3)}`);
	const entropy = tokens.entropy?.[i] ?? null;
	if (entropy !== null) parts.push(`entropy ${formatNumber(entropy, 3)} nats`);
	return parts.length === 0 ? 'nothing recorded' : parts.join(' · ');
}

export interface TokenBlock {
	/** Positions of tokens. */
	readonly start: number;
	readonly end: number;
	readonly characters: number;
}

/** Cuts tokens into blocks that are drawn as one: at a line feed where one comes, else at the limit. */
export function tokenBlocks(text: readonly string[], tokens = 256, characters = 2048): TokenBlock[] {
	const blocks: TokenBlock[] = [];
	let start = 0;
	let length = 0;
	for (let i = 0; i < text.length; i++) {
		const token = text[i] as string;
		length += token.length;
		const last = i === text.length - 1;
		const full = i + 1 - start >= tokens || length >= characters;
		if (!last && !full && !(token.endsWith('\n') && i + 1 - start >= 24)) continue;
		blocks.push({ start, end: i + 1, characters: length });
		start = i + 1;
		length = 0;
	}
	return blocks;
}
