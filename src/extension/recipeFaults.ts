import { stat } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { findNodeAtLocation, parse, parseTree } from 'jsonc-parser';
import { compileStage, placeholders } from '../core/pipeline/compileStage.ts';
import { writtenPlace } from '../core/pipeline/writtenPlace.ts';
import { hasHubDatasetForm, hasHubForm } from '../core/recipe/hubId.ts';
import { formatPath, parseRecipe, type RecipeFault } from '../core/recipe/parseRecipe.ts';
import { recipeFiles } from '../core/recipe/recipeFiles.ts';
import { setFix } from '../core/recipe/recipeFix.ts';
import { resolveRecipe } from '../core/recipe/resolve.ts';
import { decode } from '../protocol/decode.ts';
import { isRunnerStage, type PipelineRecipe, pipelineRecipeSchema } from '../protocol/recipeKeys/pipelineRecipe.ts';
import type { Recipe } from '../protocol/recipeKeys/recipe.ts';
import { trainingEngines } from '../protocol/runRecord.ts';
import { machineOf } from '../runs/recipeMachine.ts';

const syntax = { allowTrailingComma: true };

/**
 * Returns the faults that the JSON editor's schema validation does not report. @param path absolute path of the recipe
 */
export async function faultsBeyondSchema(text: string, path: string): Promise<RecipeFault[]> {
	if (text.trim() === '') return [];
	const parsed = parseRecipe(text);
	if (parsed.ok) return await missingOf(parsed, text, path);
	return decode(pipelineRecipeSchema, parse(text, [], syntax)).ok ? [...parsed.faults] : [];
}

/** Returns all faults of a recipe, or an empty list for empty text. @param path absolute path of the recipe */
export async function recipeFaults(text: string, path: string): Promise<readonly RecipeFault[]> {
	return text.trim() === '' ? [] : (await faultsOf(text, path)).faults;
}

/** Returns the engine specified by a recipe, even if the recipe has other faults, or null if it is unknown. */
export function recipeEngine(text: string): (typeof trainingEngines)[number] | null {
	const value: unknown = parse(text, [], syntax);
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
	const { engine = 'embedded' } = value as { readonly engine?: unknown };
	return trainingEngines.find((known) => known === engine) ?? null;
}

export interface CheckedRecipe {
	/** The recipe, or the first stage of a pipeline; null if it has faults. */
	readonly recipe: Recipe | null;
	/** The pipeline, if the recipe has named stages. */
	readonly pipeline: PipelineRecipe | null;
	readonly faults: readonly RecipeFault[];
}

/** Returns everything that prevents a recipe from starting; empty if nothing does. */
export async function faultsOf(text: string, path: string): Promise<CheckedRecipe> {
	const parsed = parseRecipe(text);
	if (!parsed.ok) return { recipe: null, pipeline: null, faults: parsed.faults };
	return { recipe: parsed.recipe, pipeline: parsed.pipeline, faults: await missingOf(parsed, text, path) };
}

type Key = readonly (string | number)[];

async function missingOf(
	{ recipe, pipeline, places }: Extract<ReturnType<typeof parseRecipe>, { readonly ok: true }>,
	text: string,
	path: string,
): Promise<RecipeFault[]> {
	if (pipeline === null) return missingFiles(recipe, text, path);
	const faults = new Map<string, RecipeFault>();
	for (const [i, stage] of pipeline.stages.entries()) {
		if (isRunnerStage(stage.type)) continue;
		const compiled = compileStage(pipeline, stage, placeholders(pipeline, stage));
		const at = places[i] as Key;
		const place = (key: Key) => writtenPlace(stage, at, key);
		for (const fault of await missingFiles(compiled, text, path, place)) faults.set(fault.path, fault);
	}
	return [...faults.values()];
}

/**
 * Network shares are not checked until the user starts the run, because checking them would contact another machine.
 */
const isShare = (path: string) => /^[\\/]{2}/.test(path);

/** Returns a fault for each missing file that the recipe refers to. */
async function missingFiles(
	recipe: Recipe,
	text: string,
	recipePath: string,
	place: (key: Key) => Key | null = (key) => key,
): Promise<RecipeFault[]> {
	const folder = dirname(recipePath);
	const resolved = resolveRecipe(recipe, await machineOf(recipe, folder));
	const faults: RecipeFault[] = [];
	for (const { key, path, kind } of recipeFiles(resolved)) {
		const written = place(key);
		if (written === null) continue;
		const name = valueAt(recipe, key);
		if (isShare(name) || isShare(path)) continue;
		// The path is resolved on the cluster and might not exist on this machine.
		if (recipe.engine === 'ray' && isAbsolute(name)) continue;
		const there = await stat(path).catch(() => null);
		if (there?.isFile() || (there?.isDirectory() && kind !== 'file') || (there !== null && kind === 'any')) continue;
		const message = missing(name, recipe, key);
		const fix = message.endsWith('"engine": "pytorch".') ? toPytorch : undefined;
		const fault = { ...placeOf(text, [...written]), path: formatPath(written), message };
		faults.push(fix === undefined ? fault : { ...fault, fix });
	}
	return faults;
}

/** Most Hub names in recipes for the embedded engine are meant for the PyTorch engine. */
const toPytorch = setFix(['engine'], 'pytorch', 'Use the PyTorch engine');

function missing(name: string, { engine }: Recipe, key: readonly (string | number)[]): string {
	const what = key.at(0) === 'model' && key.at(-1) === 'path' ? 'model folder' : 'file';
	const start = `The ${what} "${name}" does not exist (paths are relative to the recipe's folder)`;
	if (engine !== 'embedded') return `${start}.`;
	if (what === 'model folder' && hasHubForm(name)) {
		return `${start}, and the embedded engine only supports its own checkpoints. For a Hub model, set "engine": "pytorch".`;
	}
	return what === 'file' && hasHubDatasetForm(name) && name.includes('/')
		? `${start}. For a Hub dataset, set "engine": "pytorch".`
		: `${start}.`;
}

function valueAt(recipe: Recipe, key: readonly (string | number)[]): string {
	return String(key.reduce<unknown>((at, part) => (at as Record<string | number, unknown>)[part], recipe));
}

/** Returns the position of a recipe value in the text; lines and columns are 1-based. */
function placeOf(text: string, path: (string | number)[]): Pick<RecipeFault, 'offset' | 'length' | 'line' | 'column'> {
	const root = parseTree(text, [], syntax);
	const node = root && findNodeAtLocation(root, path);
	const offset = node?.offset ?? 0;
	const lines = text.slice(0, offset).split('\n');
	return { offset, length: node?.length ?? 1, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
