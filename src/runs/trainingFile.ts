import { basename, dirname, isAbsolute } from 'node:path';
import * as v from 'valibot';
import { openRegular } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { readResolvedRecipe } from './runReader.ts';

const recipeSchema = v.looseObject({ dataset: v.looseObject({ path: v.string() }) });

/**
 * Returns the JSONL file that a run trains on, or null if it uses a generator or another file type, or the file no
 * longer exists.
 */
export async function trainingFileOf(run: string): Promise<string | null> {
	const recipe = decode(recipeSchema, await readResolvedRecipe(run).catch(() => null));
	if (!recipe.ok) return null;
	const { path } = recipe.value.dataset;
	if (!isAbsolute(path) || !/\.jsonl$/i.test(path)) return null;
	const handle = await openRegular(dirname(path), basename(path)).catch(() => null);
	await handle?.close();
	return handle === null ? null : path;
}
