import { basename } from 'node:path';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { type SearchEnvironment, searchEnvironmentSchema } from '../protocol/searchSpec.ts';
import { type Agree, requireOwnRun } from './foreignCode.ts';
import { openDataset } from './openDataset.ts';
import { checkRewardCopies, rewardCopyPath } from './rewardCopies.ts';
import { readResolvedRecipe } from './runReader.ts';

/**
 * Returns the environment that a run trains on, in the form used by searches; null if there is none. Fails with the
 * same errors as `readResolvedRecipe`.
 */
export async function trainedEnvironment(run: string): Promise<SearchEnvironment | null> {
	const recipe = await recipeOf(run);
	const { environment } = recipe;
	if (environment === undefined) return null;
	const { file, package: named, server, arguments: given, maxTurns, turnSeconds } = environment;
	const place =
		file !== undefined
			? { file: rewardCopyPath(run, recipe, file) }
			: named !== undefined
				? { package: named }
				: { server: server as string };
	return {
		...place,
		...(given === undefined ? {} : { arguments: given }),
		maxTurns: maxTurns ?? (searchEnvironmentSchema.entries.maxTurns.default as number),
		turnSeconds,
	};
}

/**
 * Returns a run's first held-out rows with all columns, as its episodes receive them. Fails with the same errors as
 * `openDataset`.
 */
export async function heldOutRows(run: string, count: number): Promise<Readonly<Record<string, unknown>>[]> {
	const { source } = await openDataset((await recipeOf(run)).dataset);
	const empty = Object.fromEntries((source.columns ?? []).map((name) => [name, null]));
	return source.heldOut(count).map(({ row }) => ({ ...empty, ...row }));
}

/**
 * Checks that a run's environment may be used: its copy is unchanged, and this user either started the run or agrees to
 * use it. Fails with the same errors as `checkRewardCopies` and `requireOwnRun`.
 */
export async function requireTrainedEnvironment(run: string, agree: Agree): Promise<void> {
	await checkRewardCopies(run, await recipeOf(run));
	await requireOwnRun(run, 'engine', agree);
}

async function recipeOf(run: string): Promise<ResolvedRecipe> {
	return decodeResolvedRecipe(await readResolvedRecipe(run), `The recipe of ${basename(run)}`);
}
