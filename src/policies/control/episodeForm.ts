import { plainText } from '../../core/text/plainTokens.ts';
import { eosToken } from '../../core/text/specialTokens.ts';
import type { Template } from '../../core/text/template.ts';
import type { Tokenizer } from '../../core/text/tokenizer.ts';
import type { EpisodeForm } from '../openedPolicy.ts';

/**
 * Returns the episode format of an embedded checkpoint: the same as in training, with an end-of-sequence token after
 * each turn.
 */
export function episodeForm(template: Template | null, tokenizer: Tokenizer | null): EpisodeForm | null {
	const { call, result } = template ?? {};
	if (call === undefined || result === undefined || tokenizer === null) return null;
	return { call, result, end: tokenizer.symbols[eosToken] ?? '', plain: (text) => plainText(tokenizer, text) };
}
