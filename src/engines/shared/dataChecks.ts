import { Failure } from '../../base/failure.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import type { ProblemSource } from '../../core/dataset/problemSource.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { RecipeScorers } from '../../rewards/createScorers.ts';
import { missingColumns } from '../../rewards/missingColumns.ts';

/** Rejects pretraining on a dataset that has no plain text. */
export function checkTexts({ stages }: Pick<ResolvedRecipe, 'stages'>, { name, text }: ProblemSource): void {
	if (text !== undefined) return;
	for (const stage of stages) {
		if (stage.type !== 'pretrain' || stage.corpus !== null || stage.workedShare === 1) continue;
		throw new Failure(
			'invalid',
			`Dataset ${name} has no plain text for the pretrain stage.`,
			'Set "corpus" in the stage, or set "workedShare" to 1 to train on worked solutions only.',
		);
	}
}

/** Suggested change to each stage that needs worked solutions, for datasets without them. */
const withoutSolutions: Readonly<Record<string, string>> = {
	sft: 'remove the sft stage',
	pretrain: 'set "workedShare" in the stage to 0',
	'rejection-sampling': 'remove "solution_pairs" from the stage',
};

/** Rejects training on worked solutions if the data has none. */
export function checkSolutions(
	recipe: Pick<ResolvedRecipe, 'seed' | 'stages' | 'environment'>,
	source: ProblemSource,
): void {
	const { hasSolutions, name } = source;
	// With an environment, sft stages train on episodes.
	const stage = recipe.stages.find(
		(one) =>
			(one.type === 'sft' && one.data === null && recipe.environment === undefined) ||
			(one.type === 'pretrain' && one.workedShare > 0) ||
			(one.type === 'rejection-sampling' && one.solution_pairs === true),
	);
	if (!hasSolutions && stage !== undefined) {
		let worked = false;
		for (let i = 0; i < 10_000 && !worked; i++) {
			const { solution, answer } = source.training(recipe.seed, i);
			worked = solution !== null && answer !== null;
		}
		if (!worked) {
			throw new Failure(
				'invalid',
				`Dataset ${name} has no worked solutions for the ${stage.type} stage.`,
				`Set "solution" under "dataset" to the column that contains them, or ${withoutSolutions[stage.type]}.`,
			);
		}
	}
}

/** Rejects a reward that requires a column the data does not have. */
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

/** Rejects a checkpoint that has completed more stages than the recipe has. */
export function checkStages(folder: string, index: number, { stages }: Pick<ResolvedRecipe, 'stages'>): void {
	if (index <= stages.length) return;
	throw new Failure(
		'mismatch',
		`Checkpoint ${folder} was written after stage ${index}, but the recipe has only ${stages.length}.`,
		'Use an earlier checkpoint, or add stages to the recipe.',
	);
}
