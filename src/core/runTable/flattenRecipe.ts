import { hashText } from '../../base/random.ts';
import type { RecipeScalar } from '../../protocol/runTableMessages.ts';

/** Limits for untrusted recipes. */
const maxKeys = 400;
const maxDepth = 8;
const maxText = 200;

/** Keys that do not affect how a run was trained. */
const leftOut = new Set(['$schema', 'format', 'name']);

/**
 * Returns the values of a recipe by path, such as `stages[1].learning_rate`. Lists of scalars are joined with commas
 * into one value. Long text is shortened but remains distinct, and at most 400 values are returned.
 */
export function flattenRecipe(recipe: unknown): Record<string, RecipeScalar> {
	const found: [string, RecipeScalar][] = [];
	const visit = (value: unknown, path: string, depth: number): void => {
		if (found.length >= maxKeys) return;
		if (Array.isArray(value)) {
			if (value.every((item) => typeof item !== 'object' || item === null)) {
				if (value.length > 0) found.push([path, shortened(value.map(String).join(', '))]);
			} else
				value.forEach((item, i) => {
					visit(item, `${path}[${i}]`, depth + 1);
				});
		} else if (typeof value === 'object' && value !== null) {
			if (depth > maxDepth) return;
			for (const [key, item] of Object.entries(value)) {
				if (depth === 0 && leftOut.has(key)) continue;
				visit(item, path === '' ? key : `${path}.${key}`, depth + 1);
			}
		} else if (path !== '' && path.length <= maxText) {
			if (typeof value === 'string') found.push([path, shortened(value)]);
			else if (value === null || typeof value === 'boolean' || Number.isFinite(value)) {
				found.push([path, value as RecipeScalar]);
			}
		}
	};
	visit(recipe, '', 0);
	return Object.fromEntries(found);
}

/** Runs are grouped by comparing shortened texts, so these end with a hash of the whole text. */
const shortened = (text: string): string =>
	text.length <= maxText ? text : `${text.slice(0, maxText - 12)}… #${hashText(text).toString(36)}`;
