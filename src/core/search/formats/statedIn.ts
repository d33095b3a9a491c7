import { statedAnswers } from '../../math/statedAnswer.ts';

/** Longer texts state no answer that one would want to see as one. */
const longest = 200;
/** A text that is its own answer. */
const longestBare = 40;

/** The answer that a final text states; null: none. */
export function statedIn(text: string): string | null {
	const end = text.slice(-20_000).trim();
	const answer = statedAnswers(end)[0]?.trim() ?? '';
	return answer === '' || answer.length > (answer === end ? longestBare : longest) ? null : answer;
}
