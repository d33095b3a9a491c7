import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Failure } from '../base/failure.ts';
import { resolveChecked } from '../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { readRecipeFile } from '../runs/recipeFile.ts';
import { machineOf } from '../runs/recipeMachine.ts';

export interface RewardRecipe {
	/** Absolute path to the recipe. */
	readonly path: string;
	readonly recipe: ResolvedRecipe;
	/** Whether the recipe uses the reward file. Otherwise it is merely nearby. */
	readonly names: boolean;
}

/** Recipes that were found, and errors for those that could not be read. */
export interface FoundRecipes {
	/** Recipes in order: those that use the file first, then by distance. */
	readonly recipes: readonly RewardRecipe[];
	readonly faults: readonly { readonly path: string; readonly message: string }[];
}

const passedOver = new Set(['node_modules', '__pycache__', 'dist', 'venv', 'site-packages', 'runs']);
const limits = { folders: 2_000, depth: 5, recipes: 100 } as const;

async function recipesIn(folder: string): Promise<{ recipes: string[]; folders: string[] }> {
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => [] as Dirent[]);
	const recipes: string[] = [];
	const folders: string[] = [];
	for (const entry of entries) {
		if (entry.isFile() && entry.name.endsWith('.recipe.json')) recipes.push(join(folder, entry.name));
		else if (entry.isDirectory() && !entry.name.startsWith('.') && !passedOver.has(entry.name)) {
			folders.push(join(folder, entry.name));
		}
	}
	return { recipes: recipes.sort(), folders: folders.sort() };
}

/** Searches folders for recipes breadth-first, up to a maximum depth and number of folders. */
async function searchRecipes(folders: readonly string[]): Promise<string[]> {
	const found: string[] = [];
	let level = [...new Set(folders.map((folder) => resolve(folder)))];
	let visited = 0;
	for (let depth = 0; depth <= limits.depth && level.length > 0; depth++) {
		const next: string[] = [];
		for (const folder of level) {
			if (++visited > limits.folders || found.length >= limits.recipes) return found;
			const { recipes, folders: inner } = await recipesIn(folder);
			found.push(...recipes);
			next.push(...inner);
		}
		level = next;
	}
	return found;
}

/** Reads a recipe and resolves it as for a run. Fails with `missing`, `denied` or `invalid`. */
export async function readRewardRecipe(path: string): Promise<ResolvedRecipe> {
	const { recipe } = await readRecipeFile(path);
	return resolveChecked(recipe, await machineOf(recipe, dirname(path)));
}

const realOf = (path: string) => realpath(path).catch(() => path);

/** Returns whether an entry in the recipe uses the file. */
export async function recipeNames(recipe: ResolvedRecipe, file: string): Promise<boolean> {
	const wanted = await realOf(file);
	for (const reward of recipe.rewards) {
		if (!('file' in reward) || basename(reward.file) !== basename(file)) continue;
		if (reward.file === file || (await realOf(reward.file)) === wanted) return true;
	}
	return false;
}

/** Returns the distance between two folders in the folder tree. */
function distance(from: string, to: string): number {
	const path = relative(from, to);
	return path === '' ? 0 : path.split(sep).length;
}

/**
 * Finds recipes that might specify the data for a reward file: recipes in the given folders that use the file, and
 * recipes in the file's folder or its parent folder.
 */
export async function findRewardRecipes(file: string, folders: readonly string[]): Promise<FoundRecipes> {
	const own = dirname(file);
	const near = [own, dirname(own)];
	const paths = new Set(await searchRecipes(folders));
	for (const folder of near) for (const path of (await recipesIn(folder)).recipes) paths.add(path);
	const recipes: RewardRecipe[] = [];
	const faults: { path: string; message: string }[] = [];
	for (const path of paths) {
		try {
			const recipe = await readRewardRecipe(path);
			const names = await recipeNames(recipe, file);
			if (names || near.includes(dirname(path))) recipes.push({ path, recipe, names });
		} catch (error) {
			if (near.includes(dirname(path))) faults.push({ path, message: Failure.from(error).message });
		}
	}
	const rank = (one: RewardRecipe) => (one.names ? 0 : 1_000) + distance(own, dirname(one.path));
	return { recipes: recipes.sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1)), faults };
}
