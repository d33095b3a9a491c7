import { statedAnswers } from '../../math/statedAnswer.ts';

/** Longer texts do not state an answer worth showing. */
const longest = 200;
/** Max length of a text that is its own answer. */
const longestBare = 40;

/** Returns the answer stated by a final text; null if there is none. */
export function statedIn(text: string): string | null {
	const end = text.slice(-20_000).trim();
	const answer = statedAnswers(end)[0]?.trim() ?? '';
	return answer === '' || answer.length > (answer === end ? longestBare : longest) ? null : answer;
}
