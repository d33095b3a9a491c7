import { parseTree } from 'jsonc-parser';
import { Failure } from '../../base/failure.ts';
import type { RecipeEdit } from '../../protocol/alert.ts';
import { editedRecipe } from '../rewards/recipeEdit.ts';

/**
 * Applies an alert's edits to recipe text, preserving comments and everything else. Fails with `invalid` if the text is
 * not a recipe.
 */
export function advisedRecipe(text: string, edits: readonly RecipeEdit[]): string {
	const root = parseTree(text, [], { allowTrailingComma: true });
	if (root?.type !== 'object')
		throw new Failure('invalid', 'The recipe is not a JSON object.', 'Fix the recipe first.');
	return edits.reduce(editedRecipe, text);
}
