import type { ScoreRow } from '../../protocol/scorer.ts';
import { answersEqual, goldText } from '../dataset/answer.ts';
import type { Question } from '../dataset/problem.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/**
 * Verifies answers according to a task's or dataset's rule. Returns null if accuracy does not apply to the question.
 * @param sole whether the entire text is the answer, as in an answer section (the default); otherwise, the text can be
 * an entire solution, in which the last stated answer counts
 */
export type Verifier = (question: Question, answer: string, sole?: boolean) => boolean | null;

/** Requires an exact match after normalization. Returns null without a gold answer. */
export const exactVerifier: Verifier = (question, answer) =>
	question.answer === null ? null : answersEqual(question.answer, answer);

/**
 * Returns 1 if the completion has a single, correct answer, 0 if its answer is incorrect, missing, or not unique, and
 * null without a gold answer (never 1). Thinking is ignored. If the template has answer tags, the answer is the text
 * inside the only pair of tags. Otherwise, it is the text after the thinking, from which the verifier uses the last
 * stated answer (`statedAnswers`).
 */
export function accuracyOf(row: ScoreRow, trace: Trace, tags: TraceTags, verify: Verifier): number | null {
	const question: Question = { answer: goldText(row.answer), row: row.row };
	// First check with an arbitrary answer: a row without a gold answer returns null regardless of the completion.
	const answer = soleAnswer(trace, tags);
	const verdict = verify(question, answer ?? '', tags.answer !== null);
	if (verdict === null) return null;
	return answer !== null && verdict ? 1 : 0;
}
