import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** Returns the number of tokens in a completion, or null if not recorded. */
export function tokensOf({ tokens, extra }: RolloutLine): number | null {
	if (tokens !== undefined) return tokens.text.length;
	const length = extra?.length;
	return typeof length === 'number' && Number.isFinite(length) ? length : null;
}
