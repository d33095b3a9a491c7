import { Failure } from '../../../../base/failure.ts';
import type { Problem } from '../../../../core/dataset/problem.ts';
import type { ProblemSource } from '../../../../core/dataset/problemSource.ts';
import type { ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import { openRunEnvironment, type RunEnvironment } from '../../../../episodes/openRunEnvironment.ts';
import type { EnvironmentDescription, ToolSchema } from '../../../../protocol/environmentHost.ts';
import { rewardCopyPath } from '../../../../runs/rewardCopies.ts';

/** A run's loaded environment. */
export interface OpenedEnvironment extends RunEnvironment {
	readonly description: EnvironmentDescription;
	readonly tools: readonly ToolSchema[];
	/** Environment file, package or server as given in the recipe. */
	readonly name: string;
	/** Returns the columns that `reset` receives for a problem. */
	columns(problem: Problem): Readonly<Record<string, unknown>>;
}

/**
 * Loads a run's environment, or returns null if its recipe has none. Fails with the same errors as
 * `EnvironmentRunner.describe`, or with `invalid` if a tool cannot be described.
 */
export async function openEnvironment(
	run: string,
	recipe: ResolvedRecipe,
	source: ProblemSource,
): Promise<OpenedEnvironment | null> {
	const { environment } = recipe;
	if (environment === undefined) return null;
	const opened = await openRunEnvironment(recipe, (file) => rewardCopyPath(run, recipe, file));
	try {
		const description = await opened.runner.describe();
		if (!description.ownsReward && recipe.rewards.some((reward) => 'use' in reward && reward.use === 'environment')) {
			throw new Failure(
				'invalid',
				`The reward "environment" requires a get_reward method, which ${description.name} does not have.`,
				'Add the method, or use another reward.',
			);
		}
		const tools = description.tools.map(({ schema, fault }) => {
			if (schema !== null) return schema;
			const why = fault?.message ?? 'A tool has no schema';
			throw new Failure('invalid', `${why}.`, 'Fix the environment file, then verify it.');
		});
		// Every row of a dataset has every column, as in the datasets that TRL reads.
		const empty = Object.fromEntries((source.columns ?? []).map((name) => [name, null]));
		return {
			...opened,
			description,
			tools,
			name: environment.file ?? environment.package ?? environment.server ?? description.name,
			columns: ({ prompt, answer, row }) =>
				source.columns === undefined ? { prompt, answer, ...row } : { ...empty, ...row },
		};
	} catch (error) {
		opened.dispose();
		throw error;
	}
}
