import type { Problem } from '../../dataset/problem.ts';
import { renderCompletion, type Template } from '../../text/template.ts';

/** Placeholder for a missing worked solution. Reveals nothing about the problem. */
export const neutralThought = 'Let me work through this step by step and check the result.';

/** Separates the worked solution from the answer in GSM8K and similar datasets. */
const hashes = '####';

/**
 * Returns the answer as a policy would write it. If the gold column contains a worked solution (`... #### 18`), returns
 * only the final answer.
 */
export function bareAnswer(gold: string): string {
	const at = gold.lastIndexOf(hashes);
	const bare = at < 0 ? '' : gold.slice(at + hashes.length).trim();
	return bare === '' ? gold.trim() : bare;
}

/**
 * Returns the worked solution to a problem: its solution column, or the text before the answer in its gold column; null
 * if there is none.
 */
export function workedSolution({ solution, answer }: Pick<Problem, 'solution' | 'answer'>): string | null {
	const at = answer?.lastIndexOf(hashes) ?? -1;
	return solution ?? (at > 0 ? (answer as string).slice(0, at).trim() : null);
}

/**
 * Builds a completion in the template format that gives the answer after the worked solution or, if there is none,
 * after a neutral thought.
 */
export function completionWith(template: Template, solution: string | null, answer: string): string {
	return renderCompletion(template, { solution: solution ?? neutralThought, answer });
}

/** Builds the completion with which an honest policy would solve the problem; null if it has no gold answer. */
export function honestCompletion(template: Template, problem: Problem): string | null {
	if (problem.answer === null) return null;
	return completionWith(template, workedSolution(problem), bareAnswer(problem.answer));
}
