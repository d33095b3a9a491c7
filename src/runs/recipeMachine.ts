import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { ambiguousPaths, type Machine } from '../core/recipe/machine.ts';
import type { Recipe } from '../protocol/recipeKeys/recipe.ts';

/**
 * Returns facts about this machine for a recipe in a folder. A string such as `models/small` is a path if it exists, or
 * if `models` exists (so that a misspelled folder is reported as missing); otherwise it is a Hub id.
 */
export async function machineOf(recipe: Recipe, folder: string): Promise<Machine> {
	const there = new Set<string>();
	for (const text of ambiguousPaths(recipe)) {
		const path = resolve(folder, text);
		const found = async (place: string) => (await stat(place).catch(() => null)) !== null;
		if ((await found(path)) || (text.includes('/') && (await found(dirname(path))))) there.add(path);
	}
	return {
		cores: availableParallelism(),
		resolvePath: (relative) => resolve(folder, relative),
		exists: (path) => there.has(path),
	};
}
