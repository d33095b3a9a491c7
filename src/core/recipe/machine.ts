import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { hasHubForm } from './hubId.ts';

/** Information about the machine and the recipe's location, needed to resolve a recipe. */
export interface Machine {
	/** Number of processor cores available for training. */
	readonly cores: number;
	/** Converts a recipe path to an absolute path. Relative paths are resolved against the recipe's folder. */
	resolvePath(path: string): string;
	/**
	 * Returns whether an absolute path or its parent folder exists, to distinguish it from a Hub id. If this function is
	 * absent, paths are assumed not to exist.
	 */
	exists?(path: string): boolean;
}

/** Returns the recipe strings that can be either a path or a Hub id, depending on what exists. */
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
