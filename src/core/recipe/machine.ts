import type { Recipe } from '../../protocol/recipe.ts';
import { hasHubForm } from './hubId.ts';

/** What resolution takes from the machine and the place of the recipe. */
export interface Machine {
	/** Processor cores that training may use. */
	readonly cores: number;
	/** Makes a path of the recipe absolute: relative ones start at the recipe's folder. */
	resolvePath(path: string): string;
	/** Whether something lies at an absolute path, or at the folder above it: tells it from a hub id. Absent: nothing does. */
	exists?(path: string): boolean;
}

/** Texts of a recipe that may be a path or a hub id: whether something lies there decides. */
export function ambiguousPaths(recipe: Recipe): string[] {
	if (recipe.engine === 'embedded') return [];
	const { dataset, model } = recipe;
	const data = 'task' in dataset ? [] : [dataset.path, dataset.heldOut];
	const stages = recipe.stages.map((stage) =>
		'pairs' in stage ? stage.pairs.path : 'data' in stage ? stage.data?.path : undefined,
	);
	return [...data, ...stages, 'path' in model ? model.path : undefined].filter(
		(text): text is string => text !== undefined && hasHubForm(text),
	);
}
