import type { Problem } from '../../dataset/problem.ts';
import { renderCompletion, type Template } from '../../text/template.ts';

/** Stands where a row has no worked solution: it says nothing about the problem. */
export const neutralThought = 'Let me work through this step by step and check the result.';

/** A completion in the template's form that gives this answer after the row's worked solution, or a neutral thought. */
export function completionWith(template: Template, solution: string | null, answer: string): string {
	return renderCompletion(template, { solution: solution ?? neutralThought, answer });
}

/** What an honest policy that solves the problem writes; null when the problem has no gold answer. */
export function honestCompletion(template: Template, problem: Problem): string | null {
	return problem.answer === null ? null : completionWith(template, problem.solution, problem.answer);
}
