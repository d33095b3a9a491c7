import { resolvedRecipeSchema } from '../core/recipe/resolvedRecipe.ts';
import { resolveTemplate } from '../core/text/template.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import { decode } from '../protocol/decode.ts';
import { ownFormat } from './annotationFolder.ts';
import { readResolvedRecipe } from './runReader.ts';

/** The tags of a run's template; of a run without a readable recipe, as of other trainers, the usual ones. */
export async function runTags(run: { readonly folder: string; readonly format: string }): Promise<TraceTags> {
	const value = run.format === ownFormat ? await readResolvedRecipe(run.folder).catch(() => undefined) : undefined;
	const recipe = decode(resolvedRecipeSchema, value);
	const { think, answer } = recipe.ok ? recipe.value.template : resolveTemplate('r1');
	return { think, answer };
}
