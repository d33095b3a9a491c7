import type { ScoreRow } from '../../protocol/scorer.ts';
import { answersEqual, goldText } from '../dataset/answer.ts';
import type { Question } from '../dataset/problem.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/**
 * Verifies answers by the rule of a task or dataset. null if accuracy does not apply to the question.
 * @param sole whether the text is an answer section, all of which is the answer; otherwise it may be a whole solution
 * whose last statement counts. Default true
 */
export type Verifier = (question: Question, answer: string, sole?: boolean) => boolean | null;

/** Exact match after normalization; null without a gold answer. */
export const exactVerifier: Verifier = (question, answer) =>
	question.answer === null ? null : answersEqual(question.answer, answer);

/**
 * Returns 1 if the single answer of the completion is correct, 0 if it is incorrect or there is none or several, and
 * null without a gold answer (never 1). Thinking is ignored. With answer tags in the template, the answer is the text
 * in the single pair of tags; otherwise it is the text after the thinking, of which the verifier takes the last stated
 * answer (`statedAnswers`).
 */
export function accuracyOf(row: ScoreRow, trace: Trace, tags: TraceTags, verify: Verifier): number | null {
	const question: Question = { answer: goldText(row.answer), row: row.row };
	// Checked first with an arbitrary answer: a row without a gold answer is null whatever the completion says.
	const answer = soleAnswer(trace, tags);
	const verdict = verify(question, answer ?? '', tags.answer !== null);
	if (verdict === null) return null;
	return answer !== null && verdict ? 1 : 0;
}
