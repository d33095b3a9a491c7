import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Failure } from '../base/failure.ts';
import { resolveChecked } from '../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { readRecipeFile } from '../runs/recipeFile.ts';
import { machineOf } from '../runs/recipeMachine.ts';

export interface RewardRecipe {
	/** Absolute path of the recipe. */
	readonly path: string;
	readonly recipe: ResolvedRecipe;
	/** It names the reward file; else it merely lies near. */
	readonly names: boolean;
}

/** Recipes that are there, and why those that could not be read could not. */
export interface FoundRecipes {
	/** Those that name the file first; then the nearest first. */
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

/** Recipes below the folders, breadth first, to a depth and a number of folders. */
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

/** A recipe as a run would have it. Fails with `missing`, `denied`, `invalid`. */
export async function readRewardRecipe(path: string): Promise<ResolvedRecipe> {
	const { recipe } = await readRecipeFile(path);
	return resolveChecked(recipe, await machineOf(recipe, dirname(path)));
}

const realOf = (path: string) => realpath(path).catch(() => path);

/** Whether an entry of the recipe names the file. */
export async function recipeNames(recipe: ResolvedRecipe, file: string): Promise<boolean> {
	const wanted = await realOf(file);
	for (const reward of recipe.rewards) {
		if (!('file' in reward) || basename(reward.file) !== basename(file)) continue;
		if (reward.file === file || (await realOf(reward.file)) === wanted) return true;
	}
	return false;
}

/** Steps from one folder to another in the tree of folders. */
function distance(from: string, to: string): number {
	const path = relative(from, to);
	return path === '' ? 0 : path.split(sep).length;
}

/**
 * Recipes that may tell which data a reward file is meant for: those in the given folders that name it, and those in its
 * own folder or the one above.
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
