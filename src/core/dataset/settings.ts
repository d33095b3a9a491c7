import { Failure } from '../../base/failure.ts';
import type { TaskDataset, TaskName } from '../../protocol/recipeKeys/recipe.ts';

/** Default settings for each task. Settings that are not listed do not apply to the task. */
export const taskDefaults = {
	addition: { digits: 3, subtraction: false, judged: 0, proposed: 0 },
	arithmetic: { terms: 3, largest: 9, proposed: 0 },
	countdown: { terms: 3, largest: 60, proposed: 0 },
	'base-conversion': { digits: 4, base: 2 },
	string: { length: 6, operation: 'reverse' },
	modular: { terms: 3, modulus: 10 },
	bilingual: { digits: 3, general: 0, language: 'mixed', style: 'varied' },
	signs: { terms: 4, modulus: 5, style: 'varied' },
	'graph-path': { terms: 3, nodes: 12 },
} as const satisfies { readonly [Name in TaskName]: Partial<Omit<TaskDataset, 'task'>> };

/**
 * Fills in all settings of a task. Throws `invalid` for a setting that the task does not support, rather than ignoring
 * it.
 */
export function resolveTaskSettings(dataset: TaskDataset): TaskDataset {
	const defaults: Readonly<Record<string, unknown>> = taskDefaults[dataset.task];
	for (const key of Object.keys(dataset)) {
		if (key === 'task' || key in defaults || dataset[key as keyof TaskDataset] === undefined) continue;
		throw new Failure(
			'invalid',
			`The task "${dataset.task}" has no setting "${key}".`,
			`Remove it, or use one of: ${Object.keys(defaults).join(', ')}.`,
		);
	}
	const given = Object.entries(dataset).filter(([, value]) => value !== undefined);
	return { task: dataset.task, ...defaults, ...Object.fromEntries(given) } as TaskDataset;
}

/** The digits 0 to 9. */
export const digitSymbols: readonly string[] = [...'0123456789'];

/** Returns the number of characters in a number: `digitsOf(999)` is 3. */
export function digitsOf(value: number): number {
	return String(Math.abs(Math.trunc(value))).length;
}
