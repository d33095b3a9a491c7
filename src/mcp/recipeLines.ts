import { formatAddress } from '../core/address/dataAddress.ts';
import { recipePlace } from '../core/recipe/recipePlace.ts';
import { readSmallFile } from '../files/safeFile.ts';
import { runFiles } from '../runs/runFiles.ts';
import { type QuotedText, quote } from './answer.ts';

export const largestRecipe = 4 << 20;
const lineCharacters = 300;

/** Line of a recipe that sets a key. */
export interface RecipeLine {
	/** Path of the key, such as `stages.0.learning_rate`. */
	readonly key: string;
	/** 1-based. */
	readonly line: number;
	/** Whether the key itself is in the recipe, rather than only one of its parents. */
	readonly exact: boolean;
	readonly text: QuotedText;
}

/**
 * Returns the line of a recipe that sets a key or, failing that, its closest parent. null if the text is not an object.
 */
export function recipeLine(text: string, path: readonly (string | number)[]): RecipeLine | null {
	const place = recipePlace(text, path);
	if (place === null) return null;
	const line = text.slice(0, place.offset).split('\n').length;
	const shown = text.split('\n')[line - 1] ?? '';
	return { key: path.join('.'), line, exact: place.exact, text: quote(shown.trim(), lineCharacters) };
}

/** Parses `stages.0.learning_rate` or `stages[0].learning_rate`. */
export function keyPath(key: string): (string | number)[] {
	return key
		.split(/[.[\]]+/)
		.filter((part) => part !== '')
		.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Reads a run's recipe as text. Fails with `missing` if the run has none. */
export const readRunRecipe = (folder: string): Promise<string> => readSmallFile(folder, runFiles.recipe, largestRecipe);

/** Address of a run's recipe. */
export const recipeAddress = (run: string): string =>
	formatAddress({ kind: 'file', run, path: runFiles.recipe, offset: 0 });
