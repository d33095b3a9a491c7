import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { findNodeAtLocation, parse, parseTree } from 'jsonc-parser';
import { parseRecipe, type RecipeFault } from '../core/recipe/parseRecipe.ts';
import { decode } from '../protocol/decode.ts';
import { type Recipe, recipeSchema } from '../protocol/recipe.ts';

const syntax = { allowTrailingComma: true };

/** What the JSON editor does not already mark by the schema. @param path of the recipe, absolute */
export async function faultsBeyondSchema(text: string, path: string): Promise<RecipeFault[]> {
	if (text.trim() === '') return [];
	const parsed = parseRecipe(text);
	if (parsed.ok) return await missingFiles(parsed.recipe, text, path);
	return decode(recipeSchema, parse(text, [], syntax)).ok ? [...parsed.faults] : [];
}

/** All that keeps a recipe from being started; empty when nothing does. */
export async function faultsOf(text: string, path: string): Promise<{ recipe: Recipe | null; faults: RecipeFault[] }> {
	const parsed = parseRecipe(text);
	if (!parsed.ok) return { recipe: null, faults: [...parsed.faults] };
	return { recipe: parsed.recipe, faults: await missingFiles(parsed.recipe, text, path) };
}

/** Files that the recipe names and that are not there. */
async function missingFiles(recipe: Recipe, text: string, recipePath: string): Promise<RecipeFault[]> {
	const { dataset } = recipe;
	if (!('path' in dataset)) return [];
	const faults: RecipeFault[] = [];
	for (const key of ['path', 'heldOut'] as const) {
		const name = dataset[key];
		// To look for a share of another machine is to ask that machine: not before a person starts the run.
		if (name === undefined || /^[\\/]{2}/.test(name)) continue;
		const there = await stat(resolve(dirname(recipePath), name)).catch(() => null);
		if (there?.isFile()) continue;
		const message = `There is no file "${name}": paths start at the recipe's folder.`;
		faults.push({ ...placeOf(text, ['dataset', key]), path: `dataset.${key}`, message });
	}
	return faults;
}

/** Where a value of the recipe stands in its text; lines and columns from 1. */
function placeOf(text: string, path: (string | number)[]): Pick<RecipeFault, 'offset' | 'length' | 'line' | 'column'> {
	const root = parseTree(text, [], syntax);
	const node = root && findNodeAtLocation(root, path);
	const offset = node?.offset ?? 0;
	const lines = text.slice(0, offset).split('\n');
	return { offset, length: node?.length ?? 1, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
