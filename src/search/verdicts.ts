import { parseTrace } from '../core/trace/parseTrace.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { TaskDataset } from '../protocol/recipeKeys/recipe.ts';
import type { SearchProblem } from '../protocol/treeLog.ts';
import { createAccuracy } from '../rewards/builtIn/accuracy.ts';

/** Returns whether a completion is correct; null if there is no gold answer. */
export type Verdict = (problem: SearchProblem, completion: string) => 0 | 1 | null;

/**
 * Creates a verdict from the built-in accuracy reward: uses the task's own rule if there is a task, and mathematical
 * equivalence with the gold answer otherwise.
 */
export async function createVerdict(tags: TraceTags, task: TaskDataset | null, folder: string): Promise<Verdict> {
	const pair = (of: TraceTags['think']) => (of === null ? null : ([...of] as [string, string]));
	const accuracy = await createAccuracy({
		tags: { think: pair(tags.think), answer: pair(tags.answer) },
		task,
		folder,
	});
	return ({ prompt, answer, row }, completion) => {
		const trace = parseTrace(completion, tags);
		const value = accuracy({ prompt, completion, answer, row, truncated: false, trace });
		return value === null ? null : value > 0.5 ? 1 : 0;
	};
}
