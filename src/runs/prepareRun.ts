import { randomBytes } from 'node:crypto';
import { mkdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatPath } from '../core/recipe/parseRecipe.ts';
import { recipeFiles } from '../core/recipe/recipeFiles.ts';
import { decodeResolvedRecipe, resolveChecked, withEngineSettings } from '../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { isInside } from '../files/isInside.ts';
import { requireInside } from '../files/ownFolder.ts';
import { readRunRecipe, requireFile } from './recipeFile.ts';
import { machineOf } from './recipeMachine.ts';
import { applyOverrides, type RecipeOverride, shuffleOverrides } from './recipeOverrides.ts';
import { type RewardCopies, readRewardCopies, writeRewardCopies } from './rewardCopies.ts';
import { runFiles } from './runFiles.ts';
import { listCheckpoints, readResolvedRecipe } from './runReader.ts';

export interface RecipeChanges {
	readonly seed?: number;
	/** Changes to individual keys, applied in order. */
	readonly set?: readonly RecipeOverride[];
	/** `shuffle`: shuffle advantages and pairs, so that nothing can be learned. */
	readonly control?: 'shuffle';
}

export interface PreparedRun {
	/** The new run folder, which contains recipe.json and is ready for its engine. */
	readonly folder: string;
	readonly recipe: ResolvedRecipe;
}

/** Returns a recipe value with the user's changes applied. */
export function changed(value: unknown, changes: RecipeChanges): unknown {
	return applyOverrides(value, [
		...(changes.seed === undefined ? [] : [{ path: ['seed'], value: changes.seed }]),
		...(changes.control === 'shuffle' ? shuffleOverrides(value) : []),
		...(changes.set ?? []),
	]);
}

/**
 * Resolves a recipe file as if for a run. Fails with `missing` or `invalid`, with the path in the message. Files that
 * the recipe refers to do not have to exist.
 */
export async function resolveRecipeFile(recipePath: string, changes: RecipeChanges = {}): Promise<ResolvedRecipe> {
	const path = resolve(recipePath);
	const plain = Object.values(changes).every((change) => change === undefined);
	const written = await readRunRecipe(path, plain ? undefined : (value) => changed(value, changes));
	try {
		return resolveChecked(written, await machineOf(written, dirname(path)));
	} catch (error) {
		if (!(error instanceof Failure) || error.message.includes(path)) throw error;
		throw new Failure(error.reason, `${path}: ${error.message}`, error.action);
	}
}

/**
 * Creates the folder for a new run from a recipe: `runs/<name>-<time>-<4 hex>` next to the recipe, with the resolved
 * recipe and copies of its reward files. Creates nothing if the recipe is invalid (`missing`, `invalid`) or the folder
 * cannot be written (`denied`, `full`).
 */
export async function prepareRun(recipePath: string, changes: RecipeChanges = {}): Promise<PreparedRun> {
	const path = resolve(recipePath);
	const folder = dirname(path);
	const recipe = await resolveRecipeFile(path, changes);
	await requireFiles(recipe, path);
	return makeRunFolder(join(folder, 'runs'), await readRewardCopies(recipe));
}

/** A new run that continues from a checkpoint of an existing run next to it, with the same recipe. */
export interface PreparedChild extends PreparedRun {
	readonly parentCheckpoint: string;
}

/** @param step step of the checkpoint; null for the newest */
export async function prepareChild(
	parent: string,
	step: number | null,
	changes: RecipeChanges = {},
): Promise<PreparedChild> {
	const run = await realpath(parent).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the run ${parent}`);
	});
	const what = join(run, runFiles.recipe);
	const recipe = withEngineSettings(decodeResolvedRecipe(changed(await readResolvedRecipe(run), changes), what));
	const checkpoints = await listCheckpoints(run);
	const checkpoint = step === null ? checkpoints.at(-1) : checkpoints.find((candidate) => candidate.step === step);
	if (checkpoint === undefined) {
		const steps = checkpoints.map((candidate) => candidate.step).join(', ');
		throw new Failure(
			'missing',
			step === null ? `${run} has no complete checkpoint.` : `${run} has no complete checkpoint for step ${step}.`,
			steps === '' ? 'Run the recipe again.' : `Available steps: ${steps}.`,
		);
	}
	await requireFiles(recipe, what);
	return {
		...(await makeRunFolder(dirname(run), await readRewardCopies(recipe, run))),
		parentCheckpoint: checkpoint.path,
	};
}

type Key = readonly (string | number)[];

/**
 * Fails with `missing` or `invalid` if a file that the recipe refers to is missing.
 * @param path path of the recipe
 * @param place returns where a key is written; null to skip it
 * @param name name of the referring key
 */
export async function requireFiles(
	recipe: ResolvedRecipe,
	path: string,
	{ place = (key) => key, name = path }: { readonly place?: (key: Key) => Key | null; readonly name?: string } = {},
): Promise<void> {
	for (const { key, path: file, kind } of recipeFiles(recipe)) {
		// On a cluster, the file can be in a location that only cluster machines can access.
		if (recipe.engine === 'ray' && !isInside(file, dirname(path))) continue;
		const written = place(key);
		if (written !== null) await requireFile(file, formatPath(written), name, kind);
	}
	for (const [i, reward] of recipe.rewards.entries()) {
		// A relative path is a copy inside the run that is being continued.
		const written = 'file' in reward && isAbsolute(reward.file) ? place(['rewards', i, 'file']) : null;
		if ('file' in reward && written !== null) await requireFile(reward.file, formatPath(written), name);
	}
}

async function makeRunFolder(runs: string, copies: RewardCopies): Promise<PreparedRun> {
	const folder = await makeNewFolder(runs, copies.recipe.name, (made) => writeRunFiles(made, copies));
	return { folder, recipe: copies.recipe };
}

/** Writes the contents of a run folder before its engine starts. */
export async function writeRunFiles(folder: string, copies: RewardCopies): Promise<void> {
	await writeRewardCopies(folder, copies);
	await writeFileAtomic(join(folder, runFiles.recipe), `${JSON.stringify(copies.recipe, null, '\t')}\n`);
}

/**
 * Creates `<runs>/<name>-<time>-<4 hex>` and lets `fill` write its contents; removes everything if that fails.
 * @returns the real path
 */
export async function makeNewFolder(
	runs: string,
	name: string,
	fill: (folder: string) => Promise<void>,
): Promise<string> {
	try {
		await ensureFolder(await requireInside(dirname(runs), basename(runs)));
		for (;;) {
			const folder = join(runs, `${name}-${timestamp(new Date())}-${randomBytes(2).toString('hex')}`);
			try {
				await mkdir(folder);
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
				throw error;
			}
			try {
				await fill(folder);
			} catch (error) {
				await rm(folder, { recursive: true, force: true }).catch(() => undefined);
				throw error;
			}
			return await realpath(folder);
		}
	} catch (error) {
		throw Failure.from(error, `Cannot create a run folder in ${runs}`);
	}
}

/** Formats local time as yyyymmdd-hhmmss. */
function timestamp(date: Date): string {
	const two = (value: number) => String(value).padStart(2, '0');
	const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`;
	return `${day}-${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
}

/** Returns the run folder that contains a path, such as a checkpoint's; the path itself if it is not in a run. */
export function runOfCheckpoint(path: string): string {
	const parent = dirname(path);
	return basename(parent) === runFiles.checkpoints ? dirname(parent) : path;
}
