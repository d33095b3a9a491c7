import { Failure } from '../../base/failure.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import type { ProblemSource } from '../../core/dataset/problemSource.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';
import { missingColumns } from '../../rewards/missingColumns.ts';

/** Refuses a cold start on data that has no worked solution. */
export function checkSolutions(recipe: Pick<ResolvedRecipe, 'seed' | 'stages'>, source: ProblemSource): void {
	const { hasSolutions, name } = source;
	if (!hasSolutions && recipe.stages.some((stage) => stage.type === 'sft')) {
		let worked = false;
		for (let i = 0; i < 10_000 && !worked; i++) {
			const { solution, answer } = source.training(recipe.seed, i);
			worked = solution !== null && answer !== null;
		}
		if (!worked) {
			throw new Failure(
				'invalid',
				`The dataset ${name} has no worked solutions, which the sft stage learns from.`,
				'Name their column as "solution" in the recipe\'s dataset, or leave out the sft stage.',
			);
		}
	}
}

/** Refuses a reward that cannot do without a column that the data lacks. */
export function checkColumns({ scorers }: RecipeScorers, { prompt, answer, row }: Problem): void {
	const rows = [{ prompt, completion: '', answer, row, truncated: false }];
	for (const { column } of scorers) {
		const lacking = missingColumns({ name: column.reward, required: column.required }, rows);
		if (lacking === null) continue;
		throw new Failure(
			'invalid',
			`${column.file}: ${lacking}.`,
			'Give the parameter a default, or add the column to the data.',
		);
	}
}

/** Refuses a checkpoint that was written after more stages than the recipe has. */
export function checkStages(folder: string, index: number, { stages }: Pick<ResolvedRecipe, 'stages'>): void {
	if (index <= stages.length) return;
	throw new Failure(
		'mismatch',
		`The checkpoint ${folder} was written after stage ${index}, but the recipe has ${stages.length}.`,
		'Take an earlier checkpoint or add stages to the recipe.',
	);
}
