import { decodeResolvedRecipe } from '../../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { readResolvedRecipe } from '../../runs/runReader.ts';

/** Contents of a run's recipe.json. */
export interface RecipeOfRun {
	/** Undecoded contents of the file, used for hashing. */
	readonly value: unknown;
	readonly recipe: ResolvedRecipe;
}

/** Reads and decodes a run's recipe.json on the first call. Later calls return the same result or the same error. */
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
