import { decodeResolvedRecipe } from '../../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { readResolvedRecipe } from '../../runs/runReader.ts';

/** The recipe.json of a run. */
export interface RecipeOfRun {
	/** As it lies in the file, for its hashes. */
	readonly value: unknown;
	readonly recipe: ResolvedRecipe;
}

/** Reads and decodes the recipe.json of a run once, when it is first asked for; fails each time as it failed then. */
export function recipeOfRun(run: string): () => Promise<RecipeOfRun> {
	let read: Promise<RecipeOfRun> | null = null;
	return () => {
		read ??= readResolvedRecipe(run).then((value) => ({
			value,
			recipe: decodeResolvedRecipe(value, `${run}/${runFiles.recipe}`),
		}));
		return read;
	};
}
