import { statedAnswers } from '../../math/statedAnswer.ts';

/** Maximum length of a displayed answer. */
const longest = 200;
/** Maximum length of text that counts as an answer on its own. */
const longestBare = 40;

/** Returns the answer stated in the final text; null if there is none. */
export function statedIn(text: string): string | null {
	const end = text.slice(-20_000).trim();
	const answer = statedAnswers(end)[0]?.trim() ?? '';
	return answer === '' || answer.length > (answer === end ? longestBare : longest) ? null : answer;
}
