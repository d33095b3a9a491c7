import { stat } from 'node:fs/promises';
import { type ParseError, parse } from 'jsonc-parser';
import { Failure } from '../base/failure.ts';
import { type ParsedRecipe, parseRecipe, recipeOrThrow, repeatedKeys } from '../core/recipe/parseRecipe.ts';
import type { RecipeFile } from '../core/recipe/recipeFiles.ts';
import { readNamed } from '../files/safeFile.ts';
import type { Recipe } from '../protocol/recipeKeys/recipe.ts';
import { partsOf } from './dataset/partsTable.ts';
import { defaultSplit, folderOfSplit } from './dataset/savedFolder.ts';

/** Size limit; recipes are written by hand. */
const largestRecipe = 4 << 20;

/** Reads the text of a recipe file. Fails with `missing`, `denied`, `invalid`. */
async function readText(path: string): Promise<string> {
	try {
		return (await readNamed(path, { largest: largestRecipe })).toString('utf8').replace(/^\uFEFF/, '');
	} catch (error) {
		const failure = Failure.from(error, `Cannot read the recipe ${path}`);
		const action = 'Use a *.recipe.json file.';
		switch (failure.reason) {
			case 'missing':
				throw new Failure('missing', `The recipe ${path} does not exist.`, action);
			case 'invalid':
				throw new Failure('invalid', `${path} is not a file.`, action);
			case 'unsupported':
				throw new Failure('invalid', `${path} is not a recipe: it is larger than ${largestRecipe} bytes.`, action);
			default:
				throw failure;
		}
	}
}

/** A recipe as read; it is a pipeline if its stages have names. */
export type ReadRecipe = Omit<Extract<ParsedRecipe, { readonly ok: true }>, 'ok'>;

/**
 * Reads and checks a recipe file. Fails with `missing`, `denied`, or `invalid` with the line number.
 * @param change applied to the recipe value before it is checked
 */
export async function readRecipeFile(path: string, change?: (value: unknown) => unknown): Promise<ReadRecipe> {
	const text = await readText(path);
	if (change === undefined) return recipeOrThrow(text, path);
	const errors: ParseError[] = [];
	const value: unknown = parse(text, errors, { allowTrailingComma: true });
	// Applying the changes would hide duplicate keys.
	if (errors.length > 0 || repeatedKeys(text).length > 0) return recipeOrThrow(text, path);
	const parsed = parseRecipe(JSON.stringify(change(value), null, 1) ?? '');
	if (parsed.ok) return parsed;
	const fault = parsed.faults[0];
	const where = fault?.path ? ` at ${fault.path}` : '';
	throw new Failure('invalid', `${path}, with the given changes${where}: ${fault?.message}`);
}

/** Same as {@link readRecipeFile}, for a single run. Fails with `unsupported` for a pipeline. */
export async function readRunRecipe(path: string, change?: (value: unknown) => unknown): Promise<Recipe> {
	const { recipe, pipeline } = await readRecipeFile(path, change);
	if (pipeline === null) return recipe;
	throw new Failure(
		'unsupported',
		`${path} is a pipeline: its stages have names, and each is a separate run.`,
		'Start it with reasoning-lab run, or remove the names.',
	);
}

/** Fails with `missing` if a file that the recipe refers to does not exist. */
export async function requireFile(
	path: string,
	key: string,
	recipe: string,
	kind: RecipeFile['kind'] = 'file',
): Promise<void> {
	const info = await stat(path).catch(() => null);
	if (info === null) {
		throw new Failure(
			'missing',
			`"${key}" in ${recipe} refers to ${path}, which does not exist.`,
			'Fix the path, or add the file.',
		);
	}
	if (kind === 'rows' && info.isDirectory()) {
		const files = folderOfSplit(path, defaultSplit).then(partsOf);
		await files.catch((error: unknown) => {
			const { message, action } = Failure.from(error);
			throw new Failure('invalid', `"${key}" in ${recipe} refers to ${path}: ${message}`, action);
		});
	} else if (kind !== 'any' && !info.isFile()) {
		throw new Failure('invalid', `"${key}" in ${recipe} refers to ${path}, which is not a file.`, 'Use a file.');
	}
}
