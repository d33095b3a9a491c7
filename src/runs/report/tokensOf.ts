import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** Tokens of a completion; null: not recorded. */
export function tokensOf({ tokens, extra }: RolloutLine): number | null {
	if (tokens !== undefined) return tokens.text.length;
	const length = extra?.length;
	return typeof length === 'number' && Number.isFinite(length) ? length : null;
}
