import { Failure } from '../base/failure.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import type { ProblemsSpec } from '../protocol/strategyComparison.ts';
import { readResolvedRecipe } from '../runs/runReader.ts';
import type { KnownRun, Runs } from './runs.ts';

/**
 * Returns the held-out problems of a run. Run folders can come from someone else, so files that the recipe refers to
 * are only read if they are inside the server's folders. Fails with `denied` or `missing` otherwise.
 */
export async function heldOutProblems(
	{ name, folder }: KnownRun,
	limit: number | undefined,
	runs: Runs,
): Promise<ProblemsSpec> {
	const { dataset, seed } = decodeResolvedRecipe(await readResolvedRecipe(folder), `The recipe of ${name}`);
	const common = { from: 'dataset', seed, part: 'held-out', ...(limit === undefined ? {} : { limit }) } as const;
	if ('task' in dataset) return { ...common, dataset: { ...dataset } };
	const within = async (path: string) => {
		try {
			return await runs.fileWithin(path);
		} catch (error) {
			const { reason, message } = Failure.from(error);
			throw new Failure(reason, `The dataset of ${name}: ${message}`, 'Pass a dataset inside a server folder.');
		}
	};
	const path = await within(dataset.path);
	const heldOut = dataset.heldOut === null ? null : await within(dataset.heldOut);
	return { ...common, dataset: { ...dataset, path, heldOut } };
}
