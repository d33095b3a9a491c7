import type { StepRule } from '../../../../core/search/stepRule.ts';
import { eosToken, type Tokenizer } from '../../../../core/text/tokenizer.ts';

/**
 * Returns the token offsets where steps end. As in search, a separator belongs to the preceding step. The last offset
 * is the end of the text, before the end-of-sequence token.
 */
export function stepEnds(ids: readonly number[], tokenizer: Tokenizer, rule: StepRule): number[] {
	const length = ids.at(-1) === eosToken ? ids.length - 1 : ids.length;
	const ends: number[] = [];
	if (rule.tokens !== null) {
		for (let end = rule.tokens; end < length; end += rule.tokens) ends.push(end);
	} else {
		const pieces = ids.slice(0, length).map((id) => tokenizer.decode([id]));
		const text = pieces.join('');
		let token = 0;
		let seen = 0;
		for (let at = 0; ; ) {
			const end = rule.end(text.slice(at));
			if (end <= 0) break;
			at += end;
			for (; seen < at; token++) seen += (pieces[token] as string).length;
			if (token >= length) break;
			if (token > (ends.at(-1) ?? 0)) ends.push(token);
		}
	}
	ends.push(length);
	return ends;
}
