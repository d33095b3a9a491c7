import type { PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import {
	type Agree,
	type ForeignCode,
	foreignCodeOf,
	markStarted,
	requireAgreed,
	startMark,
	usesOf,
} from '../foreignCode.ts';
import { stageRunsIn } from '../runFolders.ts';
import { RunRegistry } from '../runRegistry.ts';
import { hashRecipe, readPipeline, readPipelineRecipe } from './pipelineFolder.ts';

/** Hashes the recipe and the base folder for its relative paths. */
function markOf(recipe: PipelineRecipe, recipeFolder: string): string {
	return startMark([hashRecipe(recipe), recipeFolder]);
}

/** Records that this user is starting the pipeline with its current recipe. */
export async function markPipelineStarted(folder: string, registry = new RunRegistry()): Promise<void> {
	const [recipe, { recipeFolder }] = await Promise.all([readPipelineRecipe(folder), readPipeline(folder)]);
	await registry.add(folder, undefined, markOf(recipe, recipeFolder));
}

async function foreignRecipeOf(folder: string, registry: RunRegistry): Promise<ForeignCode | null> {
	const [recipe, { recipeFolder }] = await Promise.all([readPipelineRecipe(folder), readPipeline(folder)]);
	const uses = usesOf(recipe);
	if (uses.length === 0 || (await registry.startedWith(folder)) === markOf(recipe, recipeFolder)) return null;
	return { folder, uses };
}

/**
 * Fails with `denied` unless this user started the pipeline and its stage runs with exactly the code that they use now,
 * or agrees to run them.
 * @param of the part being continued: only the recipe, only the stages (with a recipe specified by the user), or both
 */
export async function requireOwnPipeline(
	folder: string,
	of: { readonly recipe: boolean; readonly stages: boolean },
	agree: Agree | undefined,
): Promise<void> {
	const registry = new RunRegistry();
	const recipe = of.recipe ? await foreignRecipeOf(folder, registry) : null;
	const foreign: ForeignCode[] = [];
	for (const run of of.stages ? await stageRunsIn(folder) : []) {
		const code = await foreignCodeOf(run, 'engine', registry);
		if (code !== null) foreign.push(code);
	}
	const uses = [...new Set([...(recipe?.uses ?? []), ...foreign.flatMap((code) => code.uses)])];
	if (uses.length === 0) return;
	await requireAgreed({ folder, uses }, agree);
	for (const run of foreign) await markStarted(run.folder, registry);
	if (recipe !== null) await markPipelineStarted(folder, registry);
}
