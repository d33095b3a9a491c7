import type { ScoreRow } from '../../protocol/scorer.ts';
import { answersEqual, goldText } from '../dataset/answer.ts';
import type { Question } from '../dataset/problem.ts';
import { soleAnswer } from '../trace/parseTrace.ts';
import type { Trace, TraceTags } from '../trace/trace.ts';

/**
 * A verifier of answers: a task's, or a dataset's. null: accuracy does not apply to the question.
 *
 * @param sole the text is an answer section, in which everything is offered as the answer; without, it may be a whole
 * solution whose last statement counts. Default true
 */
export type Verifier = (question: Question, answer: string, sole?: boolean) => boolean | null;

/** Exact after normalization; null without a gold answer. */
export const exactVerifier: Verifier = (question, answer) =>
	question.answer === null ? null : answersEqual(question.answer, answer);

/**
 * 1 when the completion's one answer is right, 0 when it is wrong or when there is none or several, null when there is no
 * gold answer to compare with (never 1). The thinking is never looked at. With answer tags in the template, the answer is
 * the text between the one pair of them; without, it is what follows the thinking, and the verifier takes its last stated
 * answer (`statedAnswers`).
 */
export function accuracyOf(row: ScoreRow, trace: Trace, tags: TraceTags, verify: Verifier): number | null {
	const question: Question = { answer: goldText(row.answer), row: row.row };
	// Asked first with an answer that may be wrong: a row without gold is null whatever the completion says.
	const answer = soleAnswer(trace, tags);
	const verdict = verify(question, answer ?? '', tags.answer !== null);
	if (verdict === null) return null;
	return answer !== null && verdict ? 1 : 0;
}
