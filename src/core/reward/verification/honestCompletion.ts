import type { Problem } from '../../dataset/problem.ts';
import { renderCompletion, type Template } from '../../text/template.ts';

/** Stands where a row has no worked solution: it says nothing about the problem. */
export const neutralThought = 'Let me work through this step by step and check the result.';

/** Between a worked solution and its answer in the columns of GSM8K and of what follows it. */
const hashes = '####';

/**
 * The answer as a policy would write it: for a gold column with a worked solution (`... #### 18`), the final answer.
 */
export function bareAnswer(gold: string): string {
	const at = gold.lastIndexOf(hashes);
	const bare = at < 0 ? '' : gold.slice(at + hashes.length).trim();
	return bare === '' ? gold.trim() : bare;
}

/**
 * The worked solution of a problem: its own, or the text before the answer in its gold column; null if there is none.
 */
export function workedSolution({ solution, answer }: Pick<Problem, 'solution' | 'answer'>): string | null {
	const at = answer?.lastIndexOf(hashes) ?? -1;
	return solution ?? (at > 0 ? (answer as string).slice(0, at).trim() : null);
}

/**
 * A completion in the format of the template that gives this answer after the worked solution of the row, or after a
 * neutral thought.
 */
export function completionWith(template: Template, solution: string | null, answer: string): string {
	return renderCompletion(template, { solution: solution ?? neutralThought, answer });
}

/** A completion by an honest policy that solves the problem; null if the problem has no gold answer. */
export function honestCompletion(template: Template, problem: Problem): string | null {
	if (problem.answer === null) return null;
	return completionWith(template, workedSolution(problem), bareAnswer(problem.answer));
}
